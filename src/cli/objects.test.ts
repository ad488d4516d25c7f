import { expect, test } from "vitest";
import { FairleadError } from "../lib/index.ts";
import { allKinds, findKind } from "./objects.ts";

const resource = (name: string, kind: string) => ({ name, kind, namespaced: true, singularName: kind.toLowerCase() });
const version = (name: string) => ({ groupVersion: `mesh.example/${name}`, version: name });
const answers = new Map<string, unknown>([
  [
    "/apis",
    {
      groups: [{ name: "mesh.example", versions: ["v1", "v1beta1"].map(version), preferredVersion: version("v1") }],
    },
  ],
  ["/api/v1", { resources: [resource("pods", "Pod")] }],
  ["/apis/mesh.example/v1", { resources: [resource("routes", "Route")] }],
  ["/apis/mesh.example/v1beta1", { resources: [resource("routes", "Route"), resource("patches", "Patch")] }],
]);

/** An API of which this does not answer. */
const clientWithout = (path: string) => ({
  raw(_method: string, asked: string): Promise<unknown> {
    if (asked !== path) return Promise.resolve(answers.get(asked));
    return Promise.reject(new FairleadError("unavailable", "the server is currently unable to handle the request"));
  },
});
const older = clientWithout("/apis/mesh.example/v1beta1");

test("kinds are known in the version that is preferred, or in the one that has them", async () => {
  const { kinds, faults } = await allKinds(clientWithout("nothing"));
  expect(kinds.map(({ plural, version: of }) => `${plural} ${of}`)).toEqual([
    "pods v1",
    "routes v1",
    "patches v1beta1",
  ]);
  expect(faults).toEqual([]);
});

test("a version that is not preferred and does not answer takes only its own kinds along", async () => {
  const { kinds, faults } = await allKinds(older);
  expect(kinds.map(({ plural }) => plural)).toEqual(["pods", "routes"]);
  expect(faults).toEqual([
    { version: "mesh.example/v1beta1", error: expect.objectContaining({ code: "unavailable" }) },
  ]);
  expect(await findKind(older, "route")).toMatchObject({ kind: "Route", version: "v1" });
});

test("what is not found is not said to be unknown while a version does not answer", async () => {
  await expect(findKind(older, "patches")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("mesh.example/v1beta1"),
  });
  // What is missing could not have been of that group.
  await expect(findKind(older, "patches.apps")).rejects.toMatchObject({ code: "not-found" });
  await expect(findKind(clientWithout("nothing"), "nonsense")).rejects.toMatchObject({ code: "not-found" });
});

test("a preferred version that does not answer is an error", async () => {
  await expect(findKind(clientWithout("/apis/mesh.example/v1"), "pods")).rejects.toMatchObject({ code: "unavailable" });
  await expect(findKind(clientWithout("/api/v1"), "routes")).rejects.toMatchObject({ code: "unavailable" });
});

test("versions that are not preferred are asked only for what the preferred ones do not have", async () => {
  const asked: string[] = [];
  const whole = clientWithout("nothing");
  const client = {
    raw(method: string, path: string) {
      asked.push(path);
      return whole.raw(method, path);
    },
  };
  expect(await findKind(client, "route")).toMatchObject({ version: "v1" });
  expect(asked).toEqual(["/apis", "/api/v1", "/apis/mesh.example/v1"]);
  expect(await findKind(client, "patches")).toMatchObject({ version: "v1beta1" });
  expect(asked.slice(3)).toEqual(["/apis", "/api/v1", "/apis/mesh.example/v1", "/apis/mesh.example/v1beta1"]);
});
