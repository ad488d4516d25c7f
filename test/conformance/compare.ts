/**
 * Two folders of a proxy's rendered resources in; the resources that differ, with what differs in them, out.
 * No order counts among resources, among the endpoints of a locality and its localities, and among a route's matchers of
 * query parameters and metadata, which istiod writes in random order; every other order does.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../src/lib/index.ts";

type Resource = Readonly<Record<string, unknown>>;

export interface ResourceDifference {
  /** `clusters outbound|80||web.default.svc.cluster.local` */
  readonly resource: string;
  /** Paths of fields, with what was expected and what is there. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface Comparison {
  readonly resources: number;
  readonly differences: readonly ResourceDifference[];
}

const always = ["clusters", "listeners", "routes", "endpoints"];
const whereRecorded = ["secrets", "ecds"];
const unordered: ReadonlySet<string> = new Set(["queryParameters", "dynamicMetadata", "lbEndpoints"]);

export function compareProxy(expectedDir: string, actualDir: string): Comparison {
  const sections = [...always, ...whereRecorded.filter((name) => existsSync(join(expectedDir, `${name}.json`)))];
  const compared = sections.map((section) => {
    const [expected, actual] = [load(expectedDir, section), load(actualDir, section)];
    const names = [...new Set([...expected.keys(), ...actual.keys()])];
    const differences = names
      .filter((name) => !isDeepStrictEqual(expected.get(name), actual.get(name)))
      .map((name) => ({
        resource: `${section} ${name}`,
        fields: new Map(fieldsThatDiffer(expected.get(name), actual.get(name), "")),
      }));
    return { resources: names.length, differences };
  });
  return {
    resources: compared.reduce((sum, { resources }) => sum + resources, 0),
    differences: compared.flatMap(({ differences }) => differences),
  };
}

function load(dir: string, section: string): ReadonlyMap<string, unknown> {
  const file = join(dir, `${section}.json`);
  if (!existsSync(file)) return new Map();
  const resources: readonly Resource[] = JSON.parse(readFileSync(file, "utf8"));
  return new Map(resources.map((resource) => [nameOf(resource), inOrder(resource, "")]));
}

const nameOf = ({ clusterName, name }: Resource): string => String(clusterName ?? name ?? "");

/** A copy in which lists that are sets are sorted; `endpoints` is one only where its members are localities. */
function inOrder(value: unknown, key: string): unknown {
  if (Array.isArray(value)) {
    const members = value.map((member) => inOrder(member, ""));
    const isSet = unordered.has(key) || (key === "endpoints" && members.every((one) => isRecord(one)));
    return isSet ? members.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : members;
  }
  if (!isRecord(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name], name)]));
}

function* fieldsThatDiffer(expected: unknown, actual: unknown, path: string): Generator<[string, string]> {
  if (isDeepStrictEqual(expected, actual)) return;
  const [left, right] = [membersOf(expected), membersOf(actual)];
  if (!left || !right || Array.isArray(expected) !== Array.isArray(actual))
    return yield [path || ".", `expected ${brief(expected)}, is ${brief(actual)}`];
  for (const key of new Set([...left.keys(), ...right.keys()]))
    yield* fieldsThatDiffer(
      left.get(key),
      right.get(key),
      Array.isArray(expected) ? `${path}[${key}]` : `${path}.${key}`,
    );
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  return Array.isArray(value) || isRecord(value) ? new Map(Object.entries(value)) : undefined;
}

const brief = (value: unknown): string => (value === undefined ? "absent" : JSON.stringify(value).slice(0, 160));
