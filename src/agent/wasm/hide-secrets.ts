/**
 * Responses with extensions' configurations in; the same out, without the pull secrets that were meant for the agent: for
 * agents that leave it to Envoy to fetch modules, which has no use for them and would show them to the module and in dumps.
 */
import { types } from "../../model/index.ts";
import type { ResponseRewriter } from "./ecds.ts";
import { readRemoteWasm } from "./extension-config.ts";
import { convertResponse } from "./response.ts";

export function createSecretHider(): ResponseRewriter {
  const convert = async (bytes: Uint8Array) => ({ bytes: withoutSecrets(bytes), isStandIn: false });
  return {
    typeUrl: types.extension,
    rewrite: (variant, response) => convertResponse(variant, response, { convert, forget: () => {} }),
  };
}

function withoutSecrets(bytes: Uint8Array): Uint8Array {
  try {
    return readRemoteWasm(bytes)?.withAddress() ?? bytes;
  } catch {
    // Envoy refuses it in words of its own.
    return bytes;
  }
}
