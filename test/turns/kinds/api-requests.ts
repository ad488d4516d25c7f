/** Requests of the embedded API that are no writes of one object: lists, selectors, reviews, rights, descriptions. */
import { type Measured, repeat } from "../kind.ts";
import type { World } from "../world.ts";

const core = "/api/v1/namespaces/default";
const authorization = "/apis/authorization.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

export async function* apiRequests(world: World): AsyncGenerator<Measured> {
  const asked = (
    name: string,
    method: string,
    path: string,
    body?: () => unknown,
    as: "admin" | "eve" = "admin",
  ): Measured => ({
    name,
    of: "api",
    async run() {
      const { code, body: said } = await world.call(method, path, body?.(), undefined, as);
      return code < 400 ? String(code) : `${code} ${String(said.message)}`;
    },
  });
  await world.call("POST", `${core}/serviceaccounts`, { metadata: { name: "default" } });
  yield* reviews(asked);
  await giveRules(world);
  yield asked(
    "the rights of one with 18,000 rules",
    "POST",
    `${authorization}/selfsubjectrulesreviews`,
    rulesOf,
    "eve",
  );
  yield asked("a refusal of one with 18,000 rules", "GET", `${core}/secrets`, undefined, "eve");
  for (const [what, group] of [
    ["held", "g"],
    ["foreign", "q"],
  ] as const)
    yield asked(
      `a role of 6,000 ${what} rules`,
      "POST",
      `${rbac}/clusterroles`,
      () => largeRole(`esc-${what}`, group),
      "eve",
    );
  yield asked(
    "a binding to a role of 6,000 rules",
    "POST",
    `${rbac}/clusterrolebindings`,
    () => binding("esc", "big2"),
    "eve",
  );
  for (const path of ["/openapi/v2", "/openapi/v3", "/apis", "/openapi/v3/apis/networking.istio.io/v1"])
    yield asked(`described by ${path}`, "GET", path);
  yield* lists(world, asked);
}

type Asked = (name: string, method: string, path: string, body?: () => unknown) => Measured;

function* reviews(asked: Asked): Generator<Measured> {
  const attributes = { verb: "get", resource: "pods" };
  const extra = Object.fromEntries(repeat(8_000, (i) => [`e${i}`, ["a", "b"]]));
  const access = `${authorization}/subjectaccessreviews`;
  const tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
  const jwt = (claims: string): string => `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(claims).toString("base64url")}.AAAA`;
  yield asked("access of 60,000 groups", "POST", access, () => ({
    spec: { user: "u", groups: repeat(60_000, (i) => `g${i}`), resourceAttributes: attributes },
  }));
  yield asked("access of 8,000 further facts", "POST", access, () => ({
    spec: { user: "u", extra, resourceAttributes: attributes },
  }));
  yield asked("a token of 1.4 MB", "POST", tokens, () => ({ spec: { token: "a".repeat(1_400_000) } }));
  yield asked("a JWT of 1.4 MB", "POST", tokens, () => ({
    spec: { token: jwt(JSON.stringify({ a: "x".repeat(1_000_000) })) },
  }));
  yield asked("a JWT of a million brackets", "POST", tokens, () => ({ spec: { token: jwt("[".repeat(1_000_000)) } }));
  yield asked("a JWT of 100,000 claims", "POST", tokens, () => ({
    spec: { token: jwt(JSON.stringify(Object.fromEntries(repeat(80_000, (i) => [`c${i}`, 1])))) },
  }));
  yield asked("a token for 60,000 audiences", "POST", `${core}/serviceaccounts/default/token`, () => ({
    spec: { audiences: repeat(60_000, (i) => `a${i}`) },
  }));
}

const rulesOf = (): object => ({ spec: { namespace: "default" } });

const largeRole = (name: string, group: string): object => ({
  metadata: { name },
  rules: repeat(6_000, (i) => ({
    apiGroups: [`${group}${i}`],
    resources: [name.replace("big", "r")],
    verbs: ["get", "list"],
  })),
});

const binding = (name: string, role: string): object => ({
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
  subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "eve" }],
});

async function giveRules({ call }: World): Promise<void> {
  for (const name of ["big0", "big1", "big2"]) {
    await call("POST", `${rbac}/clusterroles`, largeRole(name, "g"));
    await call("POST", `${rbac}/clusterrolebindings`, binding(name, name));
  }
  const rules = [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: ["create", "update", "get"] }];
  await call("POST", `${rbac}/clusterroles`, { metadata: { name: "writer" }, rules });
  await call("POST", `${rbac}/clusterrolebindings`, binding("writer", "writer"));
}

async function* lists(world: World, asked: Asked): AsyncGenerator<Measured> {
  const labels = (i: number): object => Object.fromEntries(repeat(10, (k) => [`l${k}`, `v${i}`]));
  for (let i = 0; i < 1_000; i += 50)
    await Promise.all(
      repeat(50, (k) =>
        world.call("POST", `${core}/configmaps`, {
          metadata: { name: `c${i + k}`, labels: labels(i + k) },
          data: { a: "x".repeat(100) },
        }),
      ),
    );
  const requirement = (i: number): string => `l${i % 10} in (${repeat(40, (k) => `v${k + 1_000}`).join(",")}),!z${i}`;
  const selector = (count: number): string => encodeURIComponent(repeat(count, requirement).reverse().join(","));
  const names = encodeURIComponent(repeat(400, (i) => `metadata.name!=c${i}`).join(","));
  yield asked("1,000 ConfigMaps", "GET", `${core}/configmaps`);
  yield asked("500 of 1,000 ConfigMaps", "GET", `${core}/configmaps?limit=500`);
  yield asked("1,000 ConfigMaps by 30 labels", "GET", `${core}/configmaps?labelSelector=${selector(30)}`);
  yield asked("1,000 ConfigMaps by 400 names", "GET", `${core}/configmaps?fieldSelector=${names}`);
  yield asked("1,000 ConfigMaps deleted", "DELETE", `${core}/configmaps`);
}
