/**
 * How much of each request has come that is not whole yet, and from whom, in; who has to give way where all of them together
 * take too much memory, out. A bound on each request alone bounds nothing: there may be thousands, from anybody.
 */
export interface Inflow {
  /** `client`: what one sender has is counted together. `giveWay` lets go of what has come. */
  open(client: string, giveWay: () => void): InflowPart;
}

export interface InflowPart {
  /** So much of it is held now. */
  hold(bytes: number): void;
  /** It is whole, or gone. */
  close(): void;
}

interface Part {
  bytes: number;
  readonly giveWay: () => void;
}

interface Sender {
  bytes: number;
  readonly parts: Set<Part>;
}

/** The largest of whoever has most gives way: small ones, and those of others, come through whatever somebody sends. */
export function createInflow(maxBytes: number): Inflow {
  const senders = new Map<string, Sender>();
  let all = 0;

  function add(sender: Sender, part: Part, bytes: number): void {
    part.bytes += bytes;
    sender.bytes += bytes;
    all += bytes;
  }

  function drop(client: string, sender: Sender, part: Part): void {
    if (!sender.parts.delete(part)) return;
    add(sender, part, -part.bytes);
    if (sender.parts.size === 0) senders.delete(client);
  }

  function relieve(): void {
    while (all > maxBytes) {
      const [client, sender] = largest(senders, ([, one]) => one.bytes) ?? [];
      const part = sender && largest(sender.parts, ({ bytes }) => bytes);
      if (client === undefined || !part) return;
      drop(client, sender, part);
      part.giveWay();
    }
  }

  return {
    open(client, giveWay) {
      const part: Part = { bytes: 0, giveWay };
      const sender = senders.get(client) ?? { bytes: 0, parts: new Set() };
      senders.set(client, sender);
      sender.parts.add(part);
      return {
        hold(bytes) {
          if (!sender.parts.has(part)) return;
          add(sender, part, bytes - part.bytes);
          relieve();
        },
        close: () => drop(client, sender, part),
      };
    },
  };
}

/** Of equals the first, which has been here for longest. */
function largest<T>(all: Iterable<T>, sizeOf: (one: T) => number): T | undefined {
  let found: T | undefined;
  for (const one of all) if (found === undefined || sizeOf(one) > sizeOf(found)) found = one;
  return found;
}
