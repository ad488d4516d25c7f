import { PassThrough } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createInflow } from "../lib/index.ts";
import { readBody } from "./read-body.ts";

const begin = (inflow: ReturnType<typeof createInflow>, client: string, encoding?: string) => {
  const stream = new PassThrough();
  return { stream, body: readBody(stream, { encoding, inflow, client }) };
};

test.for([
  ["as it is", undefined, (text: string): Buffer => Buffer.from(text)],
  ["compressed", "gzip", (text: string): Buffer => gzipSync(text)],
] as const)(
  "of bodies that together are too large, %s, that of who has most is refused",
  async ([, encoding, pack]) => {
    const inflow = createInflow(1000);
    const [greedy, other] = [begin(inflow, "greedy", encoding), begin(inflow, "other", encoding)];
    other.stream.write(pack("o".repeat(300)));
    const more = begin(inflow, "greedy", encoding);
    more.stream.write(pack("m".repeat(300)));
    greedy.stream.write(pack("g".repeat(600)));
    await expect(greedy.body).rejects.toThrow("too many large bodies");
    // What is refused is read on, so that its client comes to the answer.
    greedy.stream.end("more");
    other.stream.end();
    more.stream.end();
    expect((await other.body).toString()).toBe("o".repeat(300));
    expect((await more.body).toString()).toBe("m".repeat(300));
  },
);

test("a body that was read, or whose client has gone, counts no more", async () => {
  const inflow = createInflow(1000);
  for (let i = 0; i < 5; i++) {
    const { stream, body } = begin(inflow, "a");
    stream.end("x".repeat(600));
    expect((await body).length).toBe(600);
    const gone = begin(inflow, "a");
    gone.stream.write("x".repeat(600));
    gone.stream.destroy();
    await expect(gone.body).rejects.toThrow("could not be read");
  }
});
