/** Istio's words for levels (`default:info,ads:debug`) in; scopes whose levels may be changed while the process runs out. */

/** From the quietest on. */
const levels = ["none", "fatal", "error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof levels)[number];

/** What is written of one part of the program. */
export interface LogScope {
  readonly name: string;
  outputLevel: LogLevel;
  /** Lines of this level, and graver ones, are followed by where they came from. */
  stackTraceLevel: LogLevel;
  /** Whether each line says which line of the program wrote it. */
  logCallers: boolean;
}

export interface LogScopes {
  /** The same object for the same name; it is there from the first time on that somebody asks. */
  scope(name: string): LogScope;
  find(name: string): LogScope | undefined;
  /** By name. */
  list(): readonly LogScope[];
}

export function createLogScopes(text = ""): LogScopes {
  const given = parseLevels(text);
  const scopes = new Map<string, LogScope>();
  return {
    scope(name) {
      const known = scopes.get(name);
      if (known) return known;
      const outputLevel = given.get(name) ?? given.get("default") ?? "info";
      const made: LogScope = { name, outputLevel, stackTraceLevel: "none", logCallers: false };
      scopes.set(name, made);
      return made;
    },
    find: (name) => scopes.get(name),
    list: () => [...scopes.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

export function isLogLevel(text: unknown): text is LogLevel {
  return levels.some((level) => level === text);
}

/** Whether what is of this level counts where so much is wanted. */
export function isWanted(level: LogLevel, wanted: LogLevel): boolean {
  return levels.indexOf(level) <= levels.indexOf(wanted);
}

function parseLevels(text: string): Map<string, LogLevel> {
  const out = new Map<string, LogLevel>();
  for (const item of text.split(",").filter((part) => part !== "")) {
    const at = item.lastIndexOf(":");
    const [scope, level] = at < 0 ? ["default", item] : [item.slice(0, at), item.slice(at + 1)];
    if (isLogLevel(level)) out.set(scope === "all" ? "default" : scope, level);
  }
  return out;
}
