/** What an evaluation leaves behind: the steps with their reasons, the random choices, and how it ended. */
import type { ResourceType } from "../model/index.ts";

export type Stage =
  | "capture"
  | "listener"
  | "filter chain"
  | "tls"
  | "network filter"
  | "virtual host"
  | "http filter"
  | "authentication"
  | "authorization"
  | "route"
  | "cluster"
  | "endpoint"
  | "transport"
  | "application";

/** An object, and the field of it, that a decision comes from, as far as the configuration itself tells. */
export interface Hint {
  readonly object: string;
  readonly field?: string;
  /** Of a route: the how manieth it is of those of the object in its virtual host. */
  readonly route?: { readonly name: string; readonly index: number; readonly of: number };
}

export interface Step {
  /** Whose configuration was read. */
  readonly proxy: string;
  readonly stage: Stage;
  readonly decision: string;
  /** What was looked at and not taken, with the reason. */
  readonly lost: readonly string[];
  /** The resource that was read. */
  readonly resource: { readonly type: ResourceType; readonly name: string } | undefined;
  readonly hints: readonly Hint[];
  /** How likely the decision was, where it is random. */
  readonly odds: number | undefined;
}

/** One proxy's share, as its access log would have it. */
export interface Hop {
  readonly proxy: string;
  readonly listener: string;
  readonly filterChain: string;
  readonly virtualHost: string;
  readonly route: string;
  readonly cluster: string;
  readonly endpoint: string;
  /** Who called, by the certificate; empty where nobody showed one. */
  readonly peer: string;
  /** 0 for what is not HTTP. */
  readonly status: number;
  readonly flags: readonly string[];
  readonly details: string;
}

/** What a proxy tries again by itself: connections that fail, and those that break. */
export interface Retries {
  readonly connect: boolean;
  readonly broken: boolean;
}

export type Outcome =
  /** It gets to an application, or out of the mesh. */
  | { readonly kind: "reached"; readonly endpoint: string }
  /** A proxy answers itself. */
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Where it is gRPC, which wraps statuses. */
      readonly grpcStatus?: number;
      readonly flags: readonly string[];
      readonly details: string;
      readonly location?: string;
    }
  /** A proxy ends the connection. */
  | { readonly kind: "closed"; readonly flags: readonly string[]; readonly details: string };

export interface Choice {
  readonly label: string;
  /** From 0 to 1. */
  readonly odds: number;
}

export interface ChoicePoint {
  readonly what: string;
  readonly options: readonly Choice[];
  readonly taken: number;
}

/** Says which of the options is followed. */
export type Choose = (index: number, options: readonly Choice[]) => number;

export interface Recorder {
  readonly steps: readonly Step[];
  readonly choices: readonly ChoicePoint[];
  readonly assumptions: readonly string[];
  step(step: Partial<Step> & Pick<Step, "proxy" | "stage" | "decision">): void;
  /** One certain option is no choice. */
  choose<T extends Choice>(what: string, options: readonly T[]): T;
  /** What the configuration alone cannot tell. */
  assume(text: string): void;
}

export const likeliest: Choose = (_index, options) =>
  options.reduce((best, option, i) => (option.odds > (options[best]?.odds ?? 0) ? i : best), 0);

export function createRecorder(choose: Choose): Recorder {
  const steps: Step[] = [];
  const choices: ChoicePoint[] = [];
  const assumptions = new Set<string>();
  return {
    steps,
    choices,
    get assumptions() {
      return [...assumptions];
    },
    step(step) {
      steps.push({ lost: [], resource: undefined, hints: [], odds: undefined, ...step });
    },
    choose(what, options) {
      const possible = options.filter(({ odds }) => odds > 0);
      const [first] = possible.length > 0 ? possible : options;
      if (!first) throw new Error(`nothing to choose from: ${what}`);
      if (possible.length < 2) return first;
      const taken = choose(choices.length, possible);
      choices.push({ what, options: possible.map(({ label, odds }) => ({ label, odds })), taken });
      return possible[taken] ?? first;
    },
    assume: (text) => void assumptions.add(text),
  };
}

export const percent = (odds: number): string => `${Math.round(odds * 10_000) / 100} %`;
