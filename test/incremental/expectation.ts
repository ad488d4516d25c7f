/**
 * What a mesh renders for a proxy in; what a stream of it must come to hold out. Of what the stream has refused, and of what
 * waits for that, it may hold what it had.
 */
import { bytesOf, envoyTypes, type Resource, type ResourceType, types } from "../../src/model/index.ts";
import type { Referrer } from "./references.ts";
import type { StreamClient } from "./stream-client.ts";
import type { Connected } from "./world.ts";

/** Of a resource what the mesh has of it; `excused` where the stream may hold something else. */
export type Wanted = Resource | undefined | "excused";
export type Expected = ReadonlyMap<ResourceType, ReadonlyMap<string, Wanted>>;

/** What names clusters. */
const naming: readonly ResourceType[] = [types.listener, types.route];

/** What a proxy asks for that follows every reference, with what there is of it. A gRPC client begins with what it dials. */
export function expectation(session: Connected, referrer: Referrer, stream: StreamClient): Expected {
  const isExcused = excuses(session, stream);
  const expected = new Map<ResourceType, Map<string, Wanted>>(envoyTypes.map((type) => [type, new Map()]));
  const expect = (type: ResourceType, name: string, wanted: Resource | undefined): void => {
    if (expected.get(type)?.has(name)) return;
    if (wanted && isExcused(type, wanted)) excuse(type, name);
    else expected.get(type)?.set(name, wanted);
    const bytes = expected.get(type)?.get(name) === wanted && wanted && bytesOf(wanted);
    if (bytes) follow(type, bytes);
  };
  const excuse = (type: ResourceType, name: string): void => {
    expected.get(type)?.set(name, "excused");
    const bytes = stream.held(type).get(name);
    if (!bytes) return;
    // Endpoints stay for as long as their cluster.
    for (const kept of referrer.of(type, bytes).get(types.endpoint) ?? [])
      if (!session.get(types.endpoint, kept)) expected.get(types.endpoint)?.set(kept, "excused");
    follow(type, bytes);
  };
  const follow = (type: ResourceType, bytes: Uint8Array): void => {
    for (const [to, names] of referrer.of(type, bytes))
      if (stream.named.includes(to)) for (const name of names) expect(to, name, session.get(to, name));
  };
  for (const type of envoyTypes)
    if (!stream.named.includes(type)) for (const [name, resource] of session.all(type)) expect(type, name, resource);
  for (const name of stream.dials) expect(types.listener, name, session.get(types.listener, name));
  if (stream.refusing.count === 0) return expected;
  for (const type of [types.listener, types.cluster])
    for (const name of stream.held(type).keys())
      if (!expected.get(type)?.has(name) && mayStay(expected, stream, type, name)) excuse(type, name);
  return expected;
}

/** Whether the stream has refused this version, or one that this version waits for, or is wrongly believed to have it. */
function excuses(session: Connected, stream: StreamClient): (type: ResourceType, wanted: Resource) => boolean {
  const { refusing } = stream;
  const isRefused = (type: ResourceType, wanted: Resource): boolean => {
    const refused = refusing.refused(type, wanted.name);
    return refused !== undefined && Buffer.compare(refused, bytesOf(wanted)) === 0;
  };
  const isLacking = (type: ResourceType, name: string): boolean => {
    const wanted = isKnown(stream, type, name) ? undefined : session.get(type, name);
    return wanted !== undefined && isRefused(type, wanted);
  };
  /** A cluster is of no use without its endpoints. */
  const isAwaited = (name: string): boolean =>
    isLacking(types.cluster, name) ||
    session.get(types.cluster, name)?.needs.some((endpoints) => isLacking(types.endpoint, endpoints)) === true;
  if (refusing.count === 0) return () => false;
  return (type, wanted) =>
    isRefused(type, wanted) ||
    refusing.isMisstated(type, wanted.name) ||
    (naming.includes(type) && wanted.needs.some(isAwaited));
}

/**
 * Whether the control plane knows that the stream has something of this name: of state of the world nobody says what an
 * earlier stream brought.
 */
function isKnown({ held, refusing, variant }: StreamClient, type: ResourceType, name: string): boolean {
  if (!held(type).has(name) || refusing.isMisstated(type, name)) return false;
  return variant !== "sotw" || !refusing.isCarried(type, name);
}

/**
 * What the stream need not have dropped: it has not said that it has it, or it is a cluster that something names which the
 * stream has not the newest version of. What an earlier stream brought may name any, as far as a control plane knows.
 */
function mayStay(expected: Expected, stream: StreamClient, type: ResourceType, name: string): boolean {
  if (stream.refusing.isMisstated(type, name)) return true;
  if (type !== types.cluster) return false;
  return naming.some((of) =>
    [...stream.held(of)].some(
      ([late, bytes]) =>
        expected.get(of)?.get(late) === "excused" &&
        (stream.refusing.isCarried(of, late) || Buffer.from(bytes).includes(name)),
    ),
  );
}
