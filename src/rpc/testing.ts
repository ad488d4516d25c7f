/** For tests: an echo service, and certificates made on the spot by openssl. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type StringValue, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { type Method, protoCodec } from "./method.ts";

const text = protoCodec(StringValueSchema);
const method = (name: string): Method<StringValue, StringValue> => ({
  path: `/test.Echo/${name}`,
  request: text,
  response: text,
});

export const echo = { unary: method("Unary"), download: method("Download"), chat: method("Chat") };

export const message = (value: string): StringValue => create(StringValueSchema, { value });

export interface TestAuthority {
  readonly ca: string;
  /** A certificate for one name, `DNS:…` or `URI:…`. */
  issue(name: string): { readonly cert: string; readonly key: string };
}

export function createTestAuthority(): TestAuthority {
  const [caCert, caKey] = inFolder((dir) => {
    openssl(
      dir,
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out cert -days 1 -subj /CN=root",
    );
    return [readFileSync(join(dir, "cert"), "utf8"), readFileSync(join(dir, "key"), "utf8")];
  });
  return {
    ca: caCert,
    issue: (name) =>
      inFolder((dir) => {
        writeFileSync(join(dir, "ca"), caCert);
        writeFileSync(join(dir, "cakey"), caKey, { mode: 0o600 });
        writeFileSync(join(dir, "ext"), `subjectAltName=critical,${name}\n`);
        openssl(dir, "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out csr -subj /O=test");
        openssl(dir, "x509 -req -in csr -CA ca -CAkey cakey -days 1 -extfile ext -out cert");
        return { cert: readFileSync(join(dir, "cert"), "utf8"), key: readFileSync(join(dir, "key"), "utf8") };
      }),
  };
}

function inFolder<T>(run: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-test-"));
  try {
    return run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const openssl = (cwd: string, args: string): Buffer => execFileSync("openssl", args.split(" "), { cwd, stdio: "pipe" });
