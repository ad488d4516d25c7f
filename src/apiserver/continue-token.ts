/**
 * Where a list goes on, in; the token that says so out, and back. A token holds for the list, and the reader, that it
 * was made for: a MAC over both is part of it.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isRecord, parseJson } from "../lib/index.ts";
import { failure } from "./failure.ts";

export interface Position {
  readonly list: number;
  readonly from: number;
}

export interface ContinueTokens {
  format(position: Position, scope: string): string;
  /** Throws BadRequest for a token that was not made for the scope, Expired for one of an earlier process. */
  parse(token: string, scope: string): Position;
}

export function createContinueTokens(): ContinueTokens {
  const key = randomBytes(32);
  // Tells a client that read on over a restart, and begins anew, from one that sends what it was never given.
  const process = randomBytes(9).toString("base64url");
  const mac = (payload: string, scope: string): Buffer =>
    createHmac("sha256", key).update(`${payload}\n${scope}`).digest();
  return {
    format(position, scope) {
      const payload = Buffer.from(JSON.stringify({ process, ...position })).toString("base64url");
      return `${payload}.${mac(payload, scope).toString("base64url")}`;
    },
    parse(token, scope) {
      const [payload = "", given = "", ...more] = token.split(".");
      const position = readPayload(payload);
      if (!position || more.length > 0) throw invalidToken();
      if (position.process !== process) throw expiredToken();
      const sent = Buffer.from(given, "base64url");
      const wanted = mac(payload, scope);
      if (sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) throw invalidToken();
      return position;
    },
  };
}

export function expiredToken(): Error {
  return failure(
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
  );
}

function invalidToken(): Error {
  return failure("BadRequest", "continue key is not valid: it was not made for this list and this user");
}

function readPayload(text: string): (Position & { readonly process: string }) | undefined {
  try {
    const value = parseJson(Buffer.from(text, "base64url").toString());
    if (!isRecord(value)) return undefined;
    const { process, list, from } = value;
    if (typeof process !== "string" || typeof list !== "number" || typeof from !== "number") return undefined;
    return { process, list, from };
  } catch {
    return undefined;
  }
}
