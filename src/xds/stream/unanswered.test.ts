import { expect, test } from "vitest";
import { resource } from "../testing.ts";
import { Unanswered } from "./unanswered.ts";

const addition = (name: string, nonce: string) => ({
  ...{ nonce, whole: false, sentAtMs: 0, before: new Map([[name, undefined]]) },
  changes: new Map([[name, resource(name, nonce)]]),
});
const removal = (name: string, nonce: string) => ({
  ...{ nonce, whole: false, sentAtMs: 0, before: new Map([[name, resource(name, nonce)]]) },
  changes: new Map([[name, undefined]]),
});

test("a client that never answers is remembered nothing of that has come and gone", () => {
  const unanswered = new Unanswered();
  for (let i = 0; i < 5000; i++) {
    unanswered.add(addition(`n${i}`, `a${i}`));
    unanswered.add(removal(`n${i}`, `r${i}`));
  }
  expect(unanswered.kept).toBeLessThan(32);
});

test("nor one that refuses all of it", () => {
  const unanswered = new Unanswered();
  for (let i = 0; i < 5000; i++)
    for (const response of [addition(`n${i}`, `a${i}`), removal(`n${i}`, `r${i}`)]) {
      unanswered.add(response);
      unanswered.refuse(response, new Set([`n${i}`]));
    }
  expect(unanswered.kept).toBe(0);
});

test("nor one that subscribes and unsubscribes without end", () => {
  const unanswered = new Unanswered();
  for (let i = 0; i < 5000; i++) {
    unanswered.add(addition(`n${i}`, `a${i}`));
    unanswered.forget(`n${i}`);
    unanswered.forget(`never-sent-${i}`);
  }
  expect(unanswered.kept).toBeLessThan(64);
});

test("what is on its way is what a client may come to have, but for what it has given up", () => {
  const unanswered = new Unanswered();
  const hashes = () => [...unanswered.sent("n")].map(({ hash }) => hash);
  const [one, two] = [addition("n", "one"), addition("n", "two")];
  for (const response of [one, removal("n", "gone"), two, addition("m", "other")]) unanswered.add(response);
  expect(hashes()).toEqual([one, two].map(({ changes }) => changes.get("n")?.hash));
  unanswered.settle(one);
  expect(hashes()).toEqual([two.changes.get("n")?.hash]);
  unanswered.forget("n");
  expect(hashes()).toEqual([]);
});
