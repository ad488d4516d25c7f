import { expect, test } from "vitest";
import { identitiesOf } from "./identities.ts";

test.each([
  ["of a workload", "spiffe://here/ns/shop/sa/web", ["spiffe://here/ns/shop/sa/web", "spiffe://old/ns/shop/sa/web"]],
  ["without an account", "spiffe://here/ns/shop/sa/", ["spiffe://here/ns/shop/sa/", "spiffe://old/ns/shop/sa/"]],
  ["of another form", "spiffe://here/web", ["spiffe://here/web"]],
  ["that is a name", "a.com", ["a.com"]],
])("an id %s, for each alias of the trust domain", (_, id, expected) => {
  expect(identitiesOf({ serviceAccounts: [id] }, [], ["old"])).toEqual(expected);
});
