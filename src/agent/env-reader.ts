/** Variables and arguments as pilot-agent reads them: text in, typed values out; what cannot be read is refused by name. */
import { FairleadError, parseDurationMs } from "../lib/index.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvReader {
  text(name: string, fallback: string): string;
  number(name: string, fallback: number): number;
  bool(name: string, fallback: boolean): boolean;
  durationMs(name: string, fallback: number): number;
}

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  t: true,
  "1": true,
  false: false,
  f: false,
  "0": false,
};

/** An empty variable counts as not set; one that cannot be read is an error rather than a surprise. */
export function createEnvReader(env: Environment): EnvReader {
  const parse = <T>(name: string, fallback: T, kind: string, read: (text: string) => T | undefined): T => {
    const text = env[name];
    if (text === undefined || text === "") return fallback;
    const value = read(text);
    if (value === undefined)
      throw new FairleadError("usage", `${name}=${JSON.stringify(text)} is not ${kind}`, {
        hint: `correct or unset ${name}`,
      });
    return value;
  };
  const finite = (text: string): number | undefined => (Number.isFinite(Number(text)) ? Number(text) : undefined);
  return {
    text: (name, fallback) => parse(name, fallback, "a text", (text) => text),
    number: (name, fallback) => parse(name, fallback, "a number", finite),
    bool: (name, fallback) => parse(name, fallback, "true or false", (text) => booleans[text.toLowerCase()]),
    durationMs: (name, fallback) => parse(name, fallback, "a duration such as 1h30m", parseDurationMs),
  };
}

export interface AgentFlags {
  readonly positional: readonly string[];
  get(name: string): string | undefined;
}

/** Flags without a value. */
const switches: ReadonlySet<string> = new Set(["log_as_json", "profiling"]);

/** Long flags with `=` or a following value; unknown ones are accepted, as pilot-agent accepts them. */
export function parseAgentFlags(argv: readonly string[]): AgentFlags {
  const values = new Map<string, string>();
  const positional: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith("--")) {
      positional.push(word);
      continue;
    }
    const [name = "", ...value] = word.slice(2).split("=");
    const alone = switches.has(name) || rest[0] === undefined || rest[0].startsWith("--");
    if (value.length > 0) values.set(name, value.join("="));
    else values.set(name, alone ? "true" : (rest.shift() ?? ""));
  }
  return { positional, get: (name) => values.get(name) };
}

/** `HOST:PORT`, an IPv6 host in brackets. */
export function parseHostPort(address: string, name: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new FairleadError("usage", `${name} is ${JSON.stringify(address)}, not HOST:PORT`, {
      hint: "for example istiod.istio-system.svc:15012",
    });
  return { host: match[1] ?? match[2] ?? "", port };
}
