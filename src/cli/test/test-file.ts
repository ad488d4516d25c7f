/** A file of expectations in; its requests and what is expected of each out, or what is wrong with the file. */
import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { objectFiles } from "../../kube/index.ts";
import { FairleadError, isRecord, nearest, parseYaml } from "../../lib/index.ts";
import { isTestFile } from "../why/input.ts";

export interface TestFile {
  readonly file: string;
  /** Files and folders that the objects are read from. */
  readonly objects: readonly string[];
  /** Of names that have none. */
  readonly namespace: string;
  readonly tests: readonly TestCase[];
}

export interface TestCase {
  readonly name: string;
  readonly request: TestRequest;
  readonly expect: Expectation;
}

export interface TestRequest {
  readonly from: string;
  readonly to: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A file with a token, from the folder of the test file. */
  readonly jwt?: string;
  readonly sni?: string;
  /** Of a caller from outside. */
  readonly address?: string;
}

export interface Expectation {
  /** Host of the Service that it gets to, as `reviews`, `reviews.shop` or in full; for callers from outside, the Pod. */
  readonly reaches?: string;
  readonly subset?: string;
  /** Name of the route that is taken first. */
  readonly route?: string;
  /** What a proxy answers itself. */
  readonly status?: number;
  readonly grpcStatus?: number;
  readonly redirect?: string;
  /** A proxy ends the connection. */
  readonly closed?: boolean;
  /** The object that decides, as `AuthorizationPolicy shop/deny-admin`. */
  readonly by?: string;
  /** Whom the server takes the caller for: `client.shop`, a SPIFFE id, or `nobody`. */
  readonly identity?: string;
  /** Percent of requests for which all of this holds; all of them where absent. */
  readonly share?: number;
}

type FieldType = "text" | "number" | "flag" | "texts";
const requestFields: Readonly<Record<keyof TestRequest, FieldType>> = {
  from: "text",
  to: "text",
  method: "text",
  headers: "texts",
  jwt: "text",
  sni: "text",
  address: "text",
};
const expectFields: Readonly<Record<keyof Expectation, FieldType>> = {
  reaches: "text",
  subset: "text",
  route: "text",
  status: "number",
  grpcStatus: "number",
  redirect: "text",
  closed: "flag",
  by: "text",
  identity: "text",
  share: "number",
};

/** Of a folder, the files in it that are tests; a file that is named must be one. */
export async function loadTestFiles(paths: readonly string[]): Promise<readonly TestFile[]> {
  const found: TestFile[] = [];
  for (const path of paths) {
    const files = await objectFiles(path);
    for (const file of files) {
      const documents = documentsOf(file, await readFile(file, "utf8"));
      const own = documents.filter(isTestFile);
      if (own.length === 0 && file === path) throw wrong(file, "has no list `tests`", "see docs/test.md");
      found.push(...own.map((document) => readTests(file, document)));
    }
  }
  if (found.length === 0)
    throw new FairleadError("not-found", `no tests in ${paths.join(", ")}`, { hint: "see docs/test.md" });
  return found;
}

function documentsOf(file: string, text: string): readonly unknown[] {
  try {
    return parseYaml(text);
  } catch (error) {
    throw new FairleadError("invalid", `${file}: ${FairleadError.from(error).message.split("\n")[0]}`, {
      cause: error,
    });
  }
}

function readTests(file: string, document: Readonly<Record<string, unknown>>): TestFile {
  known(file, "", document, ["objects", "namespace", "tests"]);
  const { objects, namespace = "default", tests } = document;
  if (typeof namespace !== "string") throw wrong(file, "namespace is no text");
  const folder = dirname(file);
  const besides = /^tests?$/.test(basename(resolve(folder))) ? ".." : ".";
  const paths = objects === undefined ? [besides] : objects;
  if (!Array.isArray(paths) || !paths.every((one): one is string => typeof one === "string"))
    throw wrong(file, "objects is no list of files and folders");
  return {
    file,
    namespace,
    objects: paths.map((one) => resolve(folder, one)),
    tests: (Array.isArray(tests) ? tests : []).map((test, i) => readTest(file, `tests[${i}]`, test)),
  };
}

function readTest(file: string, at: string, test: unknown): TestCase {
  if (!isRecord(test)) throw wrong(file, `${at} is no test`);
  known(file, `${at}.`, test, ["name", "request", "expect"]);
  const request = readFields<TestRequest>(file, `${at}.request`, test.request, requestFields);
  const expect = readFields<Expectation>(file, `${at}.expect`, test.expect, expectFields);
  if (!request.from || !request.to)
    throw wrong(file, `${at}.request needs from and to`, "such as { from: client.shop, to: web:80/path }");
  if (Object.keys(expect).filter((name) => name !== "share").length === 0)
    throw wrong(file, `${at}.expect expects nothing`, "such as { status: 403 } or { reaches: web }");
  const { name = `${request.from} to ${request.to}` } = test;
  return { name: String(name), request, expect };
}

function readFields<T extends object>(
  file: string,
  at: string,
  value: unknown,
  fields: Readonly<Record<keyof T & string, FieldType>>,
): T {
  if (!isRecord(value)) throw wrong(file, `${at} is missing`, "see docs/test.md");
  known(file, `${at}.`, value, Object.keys(fields));
  for (const [name, one] of Object.entries(value)) {
    const type = fields[name as keyof T & string];
    const isRight =
      type === "text"
        ? typeof one === "string"
        : type === "number"
          ? typeof one === "number" && one >= 0
          : type === "flag"
            ? typeof one === "boolean"
            : isRecord(one) && Object.values(one).every((text) => typeof text === "string");
    if (!isRight) throw wrong(file, `${at}.${name} is no ${words[type]}`);
  }
  return value as T;
}

const words: Readonly<Record<FieldType, string>> = {
  text: "text",
  number: "number",
  flag: "true or false",
  texts: "map of names to texts",
};

function known(file: string, at: string, value: object, names: readonly string[]): void {
  const odd = Object.keys(value).find((name) => !names.includes(name));
  if (odd === undefined) return;
  const near = nearest(odd, names);
  throw wrong(
    file,
    `${at}${odd} is not known`,
    near === undefined ? `there is ${names.join(", ")}` : `did you mean ${near}?`,
  );
}

function wrong(file: string, what: string, hint?: string): FairleadError {
  return new FairleadError("invalid", `${file}: ${what}`, hint === undefined ? {} : { hint });
}
