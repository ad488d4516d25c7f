export { type AddressGuard, createAddressGuard, guardedLookup, isLoopbackHost } from "./address-guard.ts";
export { type Backoff, createBackoff, wait } from "./backoff.ts";
export { readBoundedFile } from "./bounded-file.ts";
export { type Bucket, createBucket } from "./bucket.ts";
export { type ByteReader, type ByteTransport, createByteReader, socketTransport } from "./byte-transport.ts";
export { clientOf } from "./clients.ts";
export { collectBytes } from "./collect-bytes.ts";
export {
  type ConnectionLimits,
  type Connections,
  guardConnections,
  guardRequests,
  serverOptions,
  webLimits,
} from "./connection-guard.ts";
export { createDebounce, type Debounce } from "./debounce.ts";
export { drained } from "./drained.ts";
export { dropOldest } from "./drop-oldest.ts";
export { type DurationParts, durationParts, parseDuration, parseDurationMs } from "./duration.ts";
export { type ErrorCode, FairleadError, isDiskFull, systemCode } from "./error.ts";
export { fieldLines } from "./field-lines.ts";
export { formatSortedYaml } from "./format-yaml.ts";
export { goJson } from "./go-json.ts";
export { digest, keyFor } from "./hash.ts";
export { type Heap, watchHeap } from "./heap.ts";
export { inKeyOrder } from "./in-key-order.ts";
export { createInflow, type Inflow, type InflowPart } from "./inflow.ts";
export { formatIp, isLoopback, type Prefix, parseIp, parsePrefix } from "./ip.ts";
export { type RepeatedKey, repeatedKeys } from "./json-keys.ts";
export { inTurns, isLazy, jsonPieces, type LazyJson, lazyFields, lazyList } from "./json-pieces.ts";
export { joinKept, keptBytes } from "./kept-bytes.ts";
export { createLimit } from "./limit.ts";
export { createLineWriter, type LineWriter } from "./line-writer.ts";
export { type ListenAddress, listenOn } from "./listen.ts";
export {
  createLogger,
  type LogFields,
  type Logger,
  type LogOptions,
  printable,
  silentLogger,
} from "./log.ts";
export { createLogScopes, isLogLevel, type LogLevel, type LogScopes } from "./log-scopes.ts";
export { measureLoopDelay } from "./loop-delay.ts";
export { nearest } from "./nearest.ts";
export {
  createOverload,
  descriptorLimit,
  type Overload,
  type OverloadOptions,
  type Refusals,
  type Refused,
  type Shortage,
} from "./overload.ts";
export { isAlive, type Owner, ownerOf } from "./owner.ts";
export { fileLimits, isRecord, objectLimits, type ParseLimits, parseJson, parseYaml } from "./parse.ts";
export { parseWithRepeated } from "./parse-repeated.ts";
export { measurePattern } from "./pattern-size.ts";
export type { QueueMeter } from "./queue-meter.ts";
export { createRateMeter, type RateMeter } from "./rate-meter.ts";
export { readList, readNumber, readRecord, readText, readTextMap, readTexts } from "./read.ts";
export { redacted, redactKeys } from "./redact.ts";
export { compilePattern, type Pattern, patternSize, quotePattern } from "./regex.ts";
export { watchSessions } from "./session-guard.ts";
export { createRest, type Rest } from "./short-turns.ts";
export { type SilenceLimits, watchSilence } from "./silence.ts";
export { openSocketFolder, type SocketFolder } from "./socket-folder.ts";
export { compareText, sortBy } from "./sort.ts";
export { createWatchdog, type Watchdog } from "./watchdog.ts";
export { acceptKey, askRegularly, openWebSocket, usualAskMs, type WebSocketRole } from "./web-socket.ts";
export { type YamlLines, yamlLines } from "./yaml-lines.ts";
