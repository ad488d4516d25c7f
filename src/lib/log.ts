/** Log lines in Istio's text format, or JSON; scopes with their own levels; control characters escaped, secrets never taken. */

const levels = ["none", "fatal", "error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof levels)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  scope(name: string): Logger;
}

export interface LogOptions {
  readonly write: (line: string) => void;
  readonly now: () => Date;
  /** Istio's `--log_output_level`: `default:info,ads:debug`. */
  readonly levels?: string;
  readonly json?: boolean;
}

export function createLogger(options: LogOptions): Logger {
  const byScope = parseLevels(options.levels ?? "");
  const make = (scope: string): Logger => {
    const limit = levels.indexOf(byScope.get(scope) ?? byScope.get("default") ?? "info");
    const emit = (level: LogLevel) => (message: string, fields?: LogFields) => {
      if (levels.indexOf(level) > limit) return;
      options.write(format(options, level, scope, message, fields));
    };
    return { error: emit("error"), warn: emit("warn"), info: emit("info"), debug: emit("debug"), scope: make };
  };
  return make("default");
}

/** A logger for places where nothing is to be said, such as tests. */
export const silentLogger: Logger = createLogger({ write: () => {}, now: () => new Date(0), levels: "default:none" });

function parseLevels(text: string): Map<string, LogLevel> {
  const out = new Map<string, LogLevel>();
  for (const item of text.split(",").filter((part) => part !== "")) {
    const at = item.lastIndexOf(":");
    const [scope, level] = at < 0 ? ["default", item] : [item.slice(0, at), item.slice(at + 1)];
    const known = levels.find((name) => name === level);
    if (known) out.set(scope === "all" ? "default" : scope, known);
  }
  return out;
}

function format(options: LogOptions, level: LogLevel, scope: string, message: string, fields: LogFields = {}): string {
  const time = options.now().toISOString();
  const msg = shortened(message);
  const known = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, typeof value === "string" ? shortened(value) : value] as const);
  if (options.json) return JSON.stringify({ level, time, scope, msg, ...Object.fromEntries(known) });
  const tail = known.map(([key, value]) => `\t${key}=${printable(String(value))}`).join("");
  return `${time}\t${level}\t${scope === "default" ? "" : `${scope}\t`}${printable(msg)}${tail}`;
}

/** Texts that others wrote are quoted in errors, and may be megabytes. */
const maxTextLength = 16 * 1024;

function shortened(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}… (${text.length} characters)`;
}

/** Keeps a log line one line, and a terminal safe from what users wrote into names: controls and text-direction marks. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
