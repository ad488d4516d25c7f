/** What a queue of work tells of itself; whoever exports figures passes this in. */
export interface QueueMeter {
  /** How many items wait now is looked up there, until another queue takes its place. */
  follow(depth: () => number): void;
  /** How long an item, or what is worked off with it, has waited for its turn. */
  waited(ms: number): void;
  worked(ms: number): void;
}
