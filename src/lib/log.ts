/** Log lines in Istio's text format, or JSON; scopes with their own levels; control characters escaped, secrets never taken. */
import { createLogScopes, isWanted, type LogLevel, type LogScope, type LogScopes } from "./log-scopes.ts";

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** Whether debug lines are written now: for those that cost something to put together. */
  isDebug(): boolean;
  scope(name: string): Logger;
}

export interface LogOptions {
  readonly write: (line: string, level: LogLevel) => void;
  readonly now: () => Date;
  /** Istio's `--log_output_level`: `default:info,ads:debug`. */
  readonly levels?: string;
  /** In place of `levels`, for whoever means to change them later. */
  readonly scopes?: LogScopes;
  readonly json?: boolean;
}

export function createLogger(options: LogOptions): Logger {
  const scopes = options.scopes ?? createLogScopes(options.levels);
  const made = new Map<string, Logger>();
  // Some ask for their scope with each line.
  const known = (name: string): Logger => {
    const logger = made.get(name) ?? make(name);
    made.set(name, logger);
    return logger;
  };
  const make = (name: string): Logger => {
    const scope = scopes.scope(name);
    const emit =
      (level: LogLevel) =>
      (message: string, fields?: LogFields): void => {
        if (isWanted(level, scope.outputLevel)) options.write(format(options, level, scope, message, fields), level);
      };
    return {
      ...{ error: emit("error"), warn: emit("warn"), info: emit("info"), debug: emit("debug") },
      isDebug: () => isWanted("debug", scope.outputLevel),
      scope: known,
    };
  };
  return known("default");
}

/** A logger for places where nothing is to be said, such as tests. */
export const silentLogger: Logger = createLogger({ write: () => {}, now: () => new Date(0), levels: "default:none" });

function format(
  options: LogOptions,
  level: LogLevel,
  scope: LogScope,
  message: string,
  fields: LogFields = {},
): string {
  const time = options.now().toISOString();
  const msg = shortened(message);
  const known = Object.entries({ ...fields, ...origin(level, scope) })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, typeof value === "string" ? shortened(value) : value] as const);
  if (options.json) return JSON.stringify({ level, time, scope: scope.name, msg, ...Object.fromEntries(known) });
  const tail = known.map(([key, value]) => `\t${key}=${printable(String(value))}`).join("");
  return `${time}\t${level}\t${scope.name === "default" ? "" : `${scope.name}\t`}${printable(msg)}${tail}`;
}

/** Where the line came from, as far as somebody wants to know. */
function origin(level: LogLevel, scope: LogScope): LogFields {
  const isTraced = isWanted(level, scope.stackTraceLevel);
  if (!isTraced && !scope.logCallers) return {};
  const places = (new Error().stack ?? "").split("\n").map((line) => line.trim().replace(/^at /, ""));
  // Above the caller are the heading, this function, `format` and `emit`.
  const callers = places.slice(4);
  return {
    ...(scope.logCallers ? { caller: callers[0] } : {}),
    ...(isTraced ? { stack: callers.join("; ") } : {}),
  };
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
