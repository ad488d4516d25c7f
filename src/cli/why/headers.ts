/** Headers as a person writes them, and a file with a token, in; what is sent out. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Headers } from "../../explain/index.ts";
import { FairleadError } from "../../lib/index.ts";

export async function headersOf(header: readonly string[], jwt: string | undefined, cwd: string): Promise<Headers> {
  const headers = header.map((text): readonly [string, string] => {
    const at = text.indexOf(":");
    const name = text.slice(0, Math.max(0, at)).trim().toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      throw new FairleadError("usage", `${JSON.stringify(text)} is no header`, {
        hint: "write it as -H 'name: value'",
      });
    return [name, text.slice(at + 1).trim()];
  });
  if (jwt === undefined) return headers;
  const token = await readFile(resolve(cwd, jwt), "utf8").catch((cause: unknown) => {
    throw new FairleadError("not-found", `cannot read ${jwt}`, {
      cause,
      hint: "--jwt names a file that holds the token",
    });
  });
  const text = token.trim().replace(/^Bearer /i, "");
  if (!/^[\w.=+/-]*$/.test(text) || text.length > 100_000)
    throw new FairleadError("invalid", `${jwt} holds no token`, {
      hint: "a token is three parts in base64 with dots between them",
    });
  return [...headers, ["authorization", `Bearer ${text}`]];
}
