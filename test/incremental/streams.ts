/**
 * A life in; what is wrong with what its streams hold at the end out. Each Envoy has a stream of each variant, and each gRPC
 * application one, to the mesh that lives, and at the end to a fresh one: all must come to hold what that renders. Streams are cut now and then, and
 * refuse things for a while: of these, and of what waits for them, they may hold what they had.
 */
import { digest } from "../../src/lib/index.ts";
import { bytesOf, type Resource, type ResourceType, types } from "../../src/model/index.ts";
import { createRandom } from "../random.ts";
import { type Expected, expectation } from "./expectation.ts";
import { asMerged } from "./held-hosts.ts";
import type { Life } from "./life.ts";
import { connectAsIn, createPlayer, type Player } from "./play.ts";
import type { LiveProxy } from "./proxies.ts";
import { createReferrer, type Referrer } from "./references.ts";
import { openStream, type StreamClient, type Troubles, type Variant, wholeSets } from "./stream-client.ts";
import { createWorld, type WorldSettings } from "./world.ts";

const envoyVariants: readonly Variant[] = ["delta", "sotw", "vhds"];
const variantsOf = ({ asks }: LiveProxy): readonly Variant[] => (asks ? ["grpc"] : envoyVariants);
const cutChance = 0.08;
/** Of a stream, each time that clusters have come and wait for their endpoints. */
const lossChance = 0.2;
const patienceMs = 20_000;

/** How many of a hundred names a stream refuses in bad times, and how often the times change. */
const refusedShare = 4;
const turnChance = 0.3;

export interface StreamsPlayed {
  /** How many resources the gRPC applications hold at the end. */
  readonly dialed: number;
  /** What is wrong, where something is. */
  readonly wrong: string | undefined;
  /** How often something was refused. */
  readonly refusals: number;
}

export async function playStreams({ steps, settings }: Life, seed: number): Promise<StreamsPlayed> {
  const random = createRandom(seed);
  const times = createTimes(seed);
  const referrer = await createReferrer();
  const player = await createPlayer({ settings });
  const port = await player.world.listen();
  const streams = new Map<string, readonly StreamClient[]>();
  try {
    for (const step of steps) {
      await player.step(step);
      if (step.does === "connect") {
        const { proxy } = step;
        const open = (variant: Variant) =>
          openStream(port, proxy, variant, referrer, times.troubles(`${proxy.name} ${variant}`, variant));
        streams.set(proxy.name, await Promise.all(variantsOf(proxy).map(open)));
      }
      if (step.does === "disconnect") closeAll(streams, step.name);
      for (const stream of [...streams.values()].flat()) if (random.chance(cutChance)) stream.cut();
      times.pass();
    }
    times.end();
    await player.settled();
    const all = [...streams.values()];
    const wrong = await compareWithFresh({ player, settings, streams: all, referrer });
    const dialed = all.flat().reduce((sum, stream) => sum + heldByGrpc(stream), 0);
    return { dialed, wrong, refusals: all.flat().reduce((sum, { refusing }) => sum + refusing.count, 0) };
  } finally {
    for (const name of streams.keys()) closeAll(streams, name);
    await player.close();
  }
}

const heldByGrpc = ({ variant, named, held }: StreamClient): number =>
  variant === "grpc" ? named.reduce((sum, type) => sum + held(type).size, 0) : 0;

interface Times {
  troubles(stream: string, variant: Variant): Troubles;
  /** A step has been done. */
  pass(): void;
  /** Nothing is lost or refused from now on. */
  end(): void;
}

/** In bad times a stream refuses some names, which are others each time. */
function createTimes(seed: number): Times {
  const losses = createRandom(seed);
  const turns = createRandom(seed + 3_000_017);
  let [time, isBad, isOver] = [0, true, false];
  return {
    troubles: (stream, variant) => ({
      isLost: () => !isOver && losses.chance(lossChance),
      refuses(type, name) {
        // Which version of a route is wanted cannot be told where its hosts come one by one.
        if (!isBad || isOver || (variant === "vhds" && type === types.route)) return false;
        const drawn = Buffer.from(digest(`${seed} ${time} ${stream} ${type} ${name}`)).readUInt32BE();
        return drawn % 100 < refusedShare;
      },
    }),
    pass() {
      if (!turns.chance(turnChance)) return;
      time++;
      isBad = turns.chance(0.5);
    },
    end() {
      isOver = true;
    },
  };
}

function closeAll(streams: Map<string, readonly StreamClient[]>, name: string): void {
  for (const stream of streams.get(name) ?? []) stream.close();
  streams.delete(name);
}

interface Compared {
  readonly player: Player;
  readonly settings: WorldSettings;
  /** By proxy. */
  readonly streams: readonly (readonly StreamClient[])[];
  readonly referrer: Referrer;
}

async function compareWithFresh({ player, settings, streams: live, referrer }: Compared): Promise<string | undefined> {
  const fresh = await createWorld([...player.objects.values()], { settings });
  const port = await fresh.listen();
  try {
    for (const streams of live) {
      const proxy = streams[0]?.proxy;
      if (!proxy) continue;
      const session = await connectAsIn(player.world, fresh, proxy);
      const also = await Promise.all(variantsOf(proxy).map((variant) => openStream(port, proxy, variant, referrer)));
      for (const [kind, stream] of [
        ...streams.map((one) => ["live", one] as const),
        ...also.map((one) => ["fresh", one] as const),
      ]) {
        const wrong = await settle(stream, () => expectation(session, referrer, stream));
        if (wrong) return `the ${kind} ${stream.variant} stream of ${proxy.name}: ${wrong}`;
      }
      for (const stream of also) stream.close();
    }
    return undefined;
  } finally {
    await fresh.close();
  }
}

/** Waits until the stream holds what is expected; says what is different when that does not come. */
async function settle(stream: StreamClient, expected: () => Expected): Promise<string | undefined> {
  const late = AbortSignal.timeout(patienceMs);
  const given = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve(), { once: true }));
  for (;;) {
    const next = stream.changed();
    const wrong = firstDifference(stream, expected());
    if (wrong === undefined || late.aborted || stream.ended() !== undefined)
      return wrong && `${wrong}${stream.ended() === undefined ? "" : ` (${stream.ended()})`}`;
    await Promise.race([next, given]);
  }
}

function firstDifference(stream: StreamClient, expected: Expected): string | undefined {
  for (const name of stream.awaited())
    if (expected.get(types.endpoint)?.get(name)) return `a cluster waits for endpoints ${name}`;
  for (const [type, wanted] of expected) {
    const held = stream.held(type);
    const short = type.slice(type.lastIndexOf(".") + 1);
    for (const [name, resource] of wanted) {
      const bytes = held.get(name);
      if (resource === "excused") continue;
      // Of most types a state-of-the-world response cannot say that a resource has gone.
      if (!resource && (!bytes || (isSotw(stream) && !wholeSets.includes(type)))) continue;
      if (!resource) return `${short} ${name} should be gone`;
      if (!bytes) return `${short} ${name} is missing`;
      if (!isHeld(stream, type, bytes, resource)) return `${short} ${name} is outdated`;
    }
    for (const name of held.keys()) if (!wanted.has(name)) return `${short} ${name} should not be held`;
  }
  return undefined;
}

const isSotw = ({ variant }: StreamClient): boolean => variant === "sotw" || variant === "grpc";

/** With its virtual hosts, where these come by themselves. */
function isHeld(stream: StreamClient, type: ResourceType, bytes: Uint8Array, wanted: Resource): boolean {
  if (stream.variant !== "vhds" || type !== types.route) return Buffer.compare(bytes, bytesOf(wanted)) === 0;
  return Buffer.compare(stream.route(wanted.name) ?? new Uint8Array(0), asMerged(bytesOf(wanted))) === 0;
}
