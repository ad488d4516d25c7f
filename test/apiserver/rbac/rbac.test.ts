/** The embedded API is asked what a real kube-apiserver was asked, and answers the same. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, adminUser, createApiServer } from "../../../src/apiserver/index.ts";
import { silentLogger } from "../../../src/lib/index.ts";
import { type Answers, askAll, questionCount } from "./ask.ts";

const real = JSON.parse(readFileSync(join(import.meta.dirname, "answers.json"), "utf8")) as Answers;

/** Where the embedded API answers otherwise, what it answers, and why. */
const differences: readonly { readonly question: RegExp; readonly answer: string | RegExp; readonly why: string }[] = [
  {
    question: / (binds|changes a binding to) User x/,
    answer: "422 Invalid",
    why: "a binding to a kind that is no role ends in an internal error in Kubernetes; here the field is named",
  },
  {
    question: / acts as only a /,
    answer: "400 BadRequest",
    why: "to be somebody's group without being somebody is the client's mistake, not the server's (500)",
  },
  {
    question: /^c-superuser .*namespaces\/\//,
    answer: "404 NotFound",
    why: "a path with an empty part is nothing that is served, whatever the method",
  },
  {
    question: /^nobody .*\w\/\//,
    answer: /^403 Forbidden/,
    why: "refused as well, in the words of the path without its empty parts",
  },
  {
    question: /%2f/,
    answer: /^40[34] /,
    why: "an encoded slash parts nothing: what is checked and what is served can never be two paths",
  },
];

let server: ApiServer;
let dir: string;
let ours: Answers;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "fairlead-rbac-"));
  server = await createApiServer({ dataDir: dir, now: () => new Date(), log: silentLogger });
  ours = await askAll(await server.kubeconfig(adminUser));
}, 300_000);
afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

/** Kubernetes answers some paths in plain text, without a reason: then the code is all there is to agree on. */
function expected(question: string, answer: string): string | RegExp {
  const known = differences.find((difference) => difference.question.test(question));
  if (known) return known.answer;
  return /^\d+ $/.test(answer) ? new RegExp(`^${answer.trim()}( |$)`) : answer;
}

test("some thousand questions are asked", () => {
  expect(questionCount()).toBeGreaterThan(5000);
});

describe("agrees with kube-apiserver on", () => {
  test("who may do what with which resource", () => {
    expect(ours.rows).toEqual(real.rows);
  });
  test("who may read which path", () => {
    expect(ours.paths).toEqual(real.paths);
  });
  test("what somebody's own rules are", () => {
    expect(ours.rules).toEqual(real.rules);
  });
  test("requests: methods, names, subresources, escalation, bindings, impersonation, reviews", () => {
    expect(Object.keys(ours.requests)).toEqual(Object.keys(real.requests));
    const wrong = Object.entries(real.requests).flatMap(([question, answer]) => {
      const wanted = expected(question, answer);
      const given = ours.requests[question] ?? "";
      const agrees = typeof wanted === "string" ? wanted === given : wanted.test(given);
      return agrees ? [] : [{ question, wanted: String(wanted), given }];
    });
    expect(wrong).toEqual([]);
  });
  test("all but the differences that are named, each of which is one", () => {
    for (const { question, answer } of differences)
      expect(
        Object.entries(real.requests).some(([asked, given]) => question.test(asked) && given !== answer),
        String(question),
      ).toBe(true);
  });
});
