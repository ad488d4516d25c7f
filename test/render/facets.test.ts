/** What two proxies share: the view of a facet that is equal for both, which has nothing of a proxy beside its own fields. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import type { ProxyClass } from "../../src/model/index.ts";
import { facetOf } from "../../src/render/facet.ts";
import * as facets from "../../src/render/facets.ts";
import { createPartStore } from "../../src/render/part-store.ts";
import { pod } from "./objects.ts";

const offline = createOffline({ objects: [pod("web", { proxy: "sidecar", address: "10.0.0.9" })] });
const [proxy] = offline.proxies();
if (!proxy) throw new Error("no proxy");
const one = offline.classOf(proxy);
/** A value of another kind than any that a proxy has. */
const other: unknown = ["other"];
const fields = Object.keys(one) as (keyof ProxyClass)[];

test("there is a class to take facets of", () => {
  expect(fields.length).toBeGreaterThan(25);
});

test.each(Object.entries(facets))("%s: shared by all who have its fields alike, and by nobody else", (_name, kind) => {
  const store = createPartStore(offline.mesh);
  const mine = facetOf(store.classView(one), kind as typeof facets.ownFacet);
  for (const field of fields) {
    const theirs = facetOf(store.classView({ ...one, [field]: other }), kind as typeof facets.ownFacet);
    expect(theirs === mine, field).toBe(!(field in kind.fields));
  }
  expect(mine.proxy).toEqual(
    Object.fromEntries(fields.map((field) => [field, field in kind.fields ? one[field] : undefined])),
  );
});
