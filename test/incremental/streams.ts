/**
 * A life in; what is wrong with what its streams hold at the end out. Each proxy has a stream of each variant to the mesh
 * that lives, and at the end to a fresh one: all must come to hold what that renders. Streams are cut now and then.
 */
import { bytesOf, envoyTypes, type Resource, type ResourceType, types } from "../../src/model/index.ts";
import { createRandom } from "../random.ts";
import { asMerged } from "./held-hosts.ts";
import type { Step } from "./life.ts";
import { createPlayer } from "./play.ts";
import { createReferrer, namedTypes, type Referrer } from "./references.ts";
import { openStream, type StreamClient, type Variant } from "./stream-client.ts";
import { type Connected, createWorld } from "./world.ts";

const variants: readonly Variant[] = ["delta", "sotw", "vhds"];
const cutChance = 0.08;
/** Of a stream, each time that clusters have come and wait for their endpoints. */
const lossChance = 0.2;
const patienceMs = 20_000;

export async function playStreams(life: readonly Step[], seed: number): Promise<string | undefined> {
  const random = createRandom(seed);
  const losses = createRandom(seed);
  const isLost = (): boolean => losses.chance(lossChance);
  const referrer = await createReferrer();
  const player = await createPlayer();
  const port = await player.world.listen();
  const streams = new Map<string, readonly StreamClient[]>();
  try {
    for (const step of life) {
      await player.step(step);
      if (step.does === "connect")
        streams.set(
          step.proxy.name,
          await Promise.all(variants.map((variant) => openStream(port, step.proxy, variant, referrer, isLost))),
        );
      if (step.does === "disconnect") closeAll(streams, step.name);
      for (const stream of [...streams.values()].flat()) if (random.chance(cutChance)) stream.cut();
    }
    await player.settled();
    return await compareWithFresh(player.objects.values().toArray(), [...streams.values()], referrer);
  } finally {
    for (const name of streams.keys()) closeAll(streams, name);
    await player.close();
  }
}

function closeAll(streams: Map<string, readonly StreamClient[]>, name: string): void {
  for (const stream of streams.get(name) ?? []) stream.close();
  streams.delete(name);
}

async function compareWithFresh(
  objects: Parameters<typeof createWorld>[0],
  live: readonly (readonly StreamClient[])[],
  referrer: Referrer,
): Promise<string | undefined> {
  const fresh = await createWorld(objects);
  const port = await fresh.listen();
  try {
    for (const streams of live) {
      const proxy = streams[0]?.proxy;
      if (!proxy) continue;
      const expected = expectation(await fresh.connect(proxy), referrer);
      const also = await Promise.all(variants.map((variant) => openStream(port, proxy, variant, referrer)));
      for (const [kind, stream] of [
        ...streams.map((one) => ["live", one] as const),
        ...also.map((one) => ["fresh", one] as const),
      ]) {
        const wrong = await settle(stream, expected);
        if (wrong) return `the ${kind} ${stream.variant} stream of ${proxy.name}: ${wrong}`;
      }
      for (const stream of also) stream.close();
    }
    return undefined;
  } finally {
    await fresh.close();
  }
}

type Expected = ReadonlyMap<ResourceType, ReadonlyMap<string, Resource | undefined>>;

/** What a proxy asks for that follows every reference, with what there is of it. */
function expectation(session: Connected, referrer: Referrer): Expected {
  const expected = new Map<ResourceType, Map<string, Resource | undefined>>(
    envoyTypes.map((type) => [type, new Map(namedTypes.includes(type) ? [] : session.all(type))]),
  );
  const follow = (type: ResourceType, resource: Resource | undefined): void => {
    if (!resource) return;
    for (const [to, names] of referrer.of(type, bytesOf(resource)))
      for (const name of names) {
        if (expected.get(to)?.has(name)) continue;
        expected.get(to)?.set(name, session.get(to, name));
        follow(to, session.get(to, name));
      }
  };
  for (const type of envoyTypes)
    for (const resource of [...(expected.get(type)?.values() ?? [])]) follow(type, resource);
  return expected;
}

/** Waits until the stream holds what is expected; says what is different when that does not come. */
async function settle(stream: StreamClient, expected: Expected): Promise<string | undefined> {
  const late = AbortSignal.timeout(patienceMs);
  const given = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve(), { once: true }));
  for (;;) {
    const next = stream.changed();
    const wrong = firstDifference(stream, expected);
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
      // A state-of-the-world response cannot say that a named resource has gone.
      if (!resource && (!bytes || stream.variant === "sotw")) continue;
      if (!resource) return `${short} ${name} should be gone`;
      if (!bytes) return `${short} ${name} is missing`;
      if (!isHeld(stream, type, bytes, resource)) return `${short} ${name} is outdated`;
    }
    for (const name of held.keys()) if (!wanted.has(name)) return `${short} ${name} should not be held`;
  }
  return undefined;
}

/** With its virtual hosts, where these come by themselves. */
function isHeld(stream: StreamClient, type: ResourceType, bytes: Uint8Array, wanted: Resource): boolean {
  if (stream.variant !== "vhds" || type !== types.route) return Buffer.compare(bytes, bytesOf(wanted)) === 0;
  return Buffer.compare(stream.route(wanted.name) ?? new Uint8Array(0), asMerged(bytesOf(wanted))) === 0;
}
