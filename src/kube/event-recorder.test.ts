import { expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createEventRecorder } from "./event-recorder.ts";

const pod = (i: number): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `p${i}`, namespace: "default", uid: `uid-${i}` },
});

test("the same thing again is counted on its Event, for the last thousand of those that were spoken of", async () => {
  const written: string[] = [];
  const recorder = createEventRecorder({
    client: {
      async create(_kind, object) {
        written.push(`create ${object.metadata.name.split(".")[0]}`);
        return object;
      },
      async patch(_kind, { name }, _type, patch) {
        written.push(`patch ${name.split(".")[0]} ${JSON.stringify(patch)}`);
        return pod(0);
      },
    },
    ...{ component: "test", host: "here", now: () => new Date(0), random: () => 0.5, log: silentLogger },
  });
  const record = async (i: number): Promise<string | undefined> => {
    recorder.record(pod(i), "Warning", "Failed", "no");
    await recorder.idle();
    return written.at(-1);
  };
  const again = expect.stringContaining('"count":2');
  for (let i = 0; i < 1000; i++) expect(await record(i)).toBe(`create p${i}`);
  expect(await record(0)).toEqual(again);
  expect(await record(1000)).toBe("create p1000");
  // The first has been spoken of since.
  expect(await record(1)).toBe("create p1");
  expect(await record(0)).toEqual(expect.stringContaining('"count":3'));
  expect(await record(999)).toEqual(again);
});
