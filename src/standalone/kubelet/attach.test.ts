import { closeSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { createContainerLog } from "../log/container-log.ts";
import { attach } from "./attach.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-attach-"));
afterAll(() => rmSync(dir, { recursive: true }));

test.each([
  ["before it began", (gone: AbortController) => gone.abort(), () => {}],
  ["meanwhile", () => {}, (gone: AbortController) => gone.abort()],
])("a log is no longer followed for a client that has gone %s", async (_, before, meanwhile) => {
  const log = createContainerLog(join(dir, "log"), undefined);
  closeSync(log.open());
  const life = log.current();
  if (!life) throw new Error("nothing runs");
  const gone = new AbortController();
  before(gone);
  const finished: object[] = [];
  const finish = async (status: object): Promise<void> => void finished.push(status);
  const streams = { stdin: undefined, stdout: new PassThrough(), stderr: undefined, finish, signal: gone.signal };
  const attached = attach(log, life, streams);
  meanwhile(gone);
  await attached;
  expect(finished).toHaveLength(1);
});
