/** The API as kubectl sees it: the real client, validation on. In what follows `shop` stands for a namespace of the run's own. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CommandResult } from "../../src/apiserver/testing.ts";
import { lacks } from "../require.ts";
import { type Cluster, openCluster } from "./cluster.ts";

describe.skipIf(lacks("kubectl"))("kubectl", () => {
  let cluster: Cluster;
  let namespace = "";
  beforeAll(async () => {
    cluster = await openCluster();
    namespace = await cluster.namespace();
    await ok("apply -f -", shop);
  });
  afterAll(() => cluster.close());

  const own = (text: string): string =>
    text.replace(/\bshop\b/g, namespace).replaceAll("example.com", `${cluster.id}.example.com`);
  const kubectl = async (args: string, input?: string, env?: Record<string, string>): Promise<CommandResult> => {
    const { code, out, err } = await cluster.kubectl(own(args), input === undefined ? undefined : own(input), env);
    const back = (text: string): string => text.replaceAll(namespace, "shop").replaceAll(`${cluster.id}.`, "");
    return { code, out: back(out), err: back(err) };
  };

  const ok = async (args: string, input?: string, env?: Record<string, string>): Promise<string> => {
    const { code, out, err } = await kubectl(args, input, env);
    expect(err.replace(/^Warning: .*\n/gm, "")).toBe("");
    expect(code).toBe(0);
    return out;
  };
  const refused = async (args: string, input?: string): Promise<string> => {
    const { code, err } = await kubectl(args, input);
    expect(code).not.toBe(0);
    return err;
  };

  test("apply creates, then finds nothing to do, then configures", async () => {
    expect(await ok("apply -f -", shop)).toBe(
      "namespace/shop unchanged\nservice/reviews unchanged\npod/reviews-v1 unchanged\nvirtualservice.networking.istio.io/reviews unchanged\n",
    );
    expect(await ok("apply -f -", shop.replace("port: 9080", "port: 9081"))).toContain("service/reviews configured");
    expect(await ok("get svc reviews -n shop -o 'jsonpath={.spec.ports[*].port}'")).toBe("9081");
  });

  test("get shows the usual columns", async () => {
    expect((await ok("get pods -n shop")).split("\n")[0]?.split(/\s+/)).toEqual([
      "NAME",
      "READY",
      "STATUS",
      "RESTARTS",
      "AGE",
    ]);
    expect(await ok("get pods -A -o wide --no-headers --field-selector metadata.namespace=shop")).toMatch(
      /^shop +reviews-v1 +0\/1 +Pending +0 +\d+s +<none> +<none> +<none> +<none>\n$/,
    );
    expect(await ok("get svc -n shop")).toMatch(
      /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nreviews +ClusterIP +\S+ +<none> +908\d\/TCP +\d+s\n$/,
    );
    expect(await ok("get vs -n shop")).toMatch(/^NAME +GATEWAYS +HOSTS +AGE\nreviews +\["reviews"\] +\d+s\n$/);
    expect(await ok("get ns default --no-headers")).toMatch(/^default +Active /);
    expect(await ok("get all -n shop -o name")).toBe("pod/reviews-v1\nservice/reviews\n");
  });

  test("validation is the server's: unknown fields, types and rules are refused with the field named", async () => {
    expect(await refused("apply -f -", virtualService({ hosts: ["x"], http: [{ rote: [] }] }))).toContain(
      'unknown field "spec.http[0].rote"',
    );
    expect(await refused("apply -f -", virtualService({ hosts: ["x"], http: [{ timeout: "-1s" }] }))).toContain(
      "spec.http[0].timeout: Invalid value",
    );
    expect(await refused("apply -f -", configMap({ data: { a: 1 } }))).toMatch(/BadRequest.*cannot unmarshal number/);
    expect(await refused("apply -f -", configMap({ daata: {} }))).toContain('unknown field "daata"');
    expect(await ok("apply -f - --validate=warn", configMap({ daata: {} }))).toContain("configmap/made created");
    expect(await refused("create cm x -n nowhere")).toContain('namespaces "nowhere" not found');
  });

  test("edit", async () => {
    await ok("edit vs reviews -n shop", "", { KUBE_EDITOR: "sed -i /subset:.v1$/s/v1/v2/" });
    expect(
      await ok(
        "get vs reviews -n shop -o 'jsonpath={.spec.http[0].route[0].destination.subset} {.metadata.generation}'",
      ),
    ).toBe("v2 2");
  });

  test("patch: strategic, merge and json", async () => {
    await ok(
      `patch pod reviews-v1 -n shop -p '{"metadata":{"labels":{"version":"v1"}},"spec":{"containers":[{"name":"app","image":"x:2"}]}}'`,
    );
    await ok(`patch pod reviews-v1 -n shop --type=merge -p '{"metadata":{"annotations":{"a":"b"}}}'`);
    await ok(`patch pod reviews-v1 -n shop --type=json -p '[{"op":"add","path":"/metadata/labels/x","value":"y"}]'`);
    const shown = JSON.parse(await ok("get pod reviews-v1 -n shop -o json"));
    expect(shown.metadata.labels).toEqual({ app: "reviews", version: "v1", x: "y" });
    expect(shown.metadata.annotations.a).toBe("b");
    expect(shown.spec.containers).toHaveLength(1);
    expect(shown.spec.containers[0]).toMatchObject({ image: "x:2", ports: [{ containerPort: 9080, protocol: "TCP" }] });
    expect(
      await refused(
        `patch pod reviews-v1 -n shop --type=json -p '[{"op":"test","path":"/metadata/name","value":"z"}]'`,
      ),
    ).toContain("the server rejected our request due to an error in our request");
    expect(await refused(`patch vs reviews -n shop --type=strategic -p '{}'`)).toContain("unknown format");
  });

  test("a custom kind that is applied again is merged, with validation on", async () => {
    const again = (subset: string): string =>
      JSON.stringify({
        apiVersion: "networking.istio.io/v1",
        kind: "VirtualService",
        metadata: { name: "again", namespace: "shop" },
        spec: { hosts: ["reviews"], http: [{ route: [{ destination: { host: "reviews", subset } }] }] },
      });
    await ok("apply -f -", again("v1"));
    expect(await ok("apply -f -", again("v2"))).toContain("configured");
    expect(await ok("get vs again -n shop -o 'jsonpath={.spec.http[0].route[0].destination.subset}'")).toBe("v2");
  });

  test("server-side apply tells of conflicts, takes over by force, and removes what it no longer names", async () => {
    const config = (data: object): string => configMap({ metadata: { name: "owned", namespace: "shop" }, data });
    await ok("apply --server-side --field-manager=one -f -", config({ a: "1", b: "1" }));
    const conflict = await refused("apply --server-side --field-manager=two -f -", config({ a: "2" }));
    expect(conflict).toContain('conflict with "one": .data.a');
    await ok("apply --server-side --field-manager=two --force-conflicts -f -", config({ a: "2", c: "2" }));
    await ok("apply --server-side --field-manager=one -f -", config({ b: "1" }));
    expect(JSON.parse(await ok("get cm owned -n shop -o json")).data).toEqual({ a: "2", b: "1", c: "2" });
    await ok("apply --server-side --field-manager=two -f -", config({ a: "2" }));
    expect(JSON.parse(await ok("get cm owned -n shop -o json")).data).toEqual({ a: "2", b: "1" });
  });

  test("describe and explain", async () => {
    expect(await ok("describe vs reviews -n shop")).toMatch(/Name: +reviews[\s\S]*Spec:[\s\S]*Hosts:/);
    expect(await ok("describe svc reviews -n shop")).toMatch(/Selector: +app=reviews/);
    expect(await ok("describe pod reviews-v1 -n shop")).toMatch(/Containers:\n {2}app:/);
    expect(await ok("describe ns shop")).toMatch(/Status: +Active/);
    expect(await ok("explain pod.spec.containers.ports")).toMatch(/containerPort\t<integer> -required-/);
    expect(await ok("explain virtualservice.spec.http.route.destination")).toMatch(/subset\t<string>/);
    expect(await ok("explain vs.metadata.labels")).toContain("map[string]string");
  });

  test("scale changes the number of replicas and nothing else", async () => {
    const deployment = JSON.stringify({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "scaled", namespace: "shop" },
      spec: {
        selector: { matchLabels: { app: "s" } },
        template: { metadata: { labels: { app: "s" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    });
    expect((await kubectl("apply -f -", deployment)).code).toBe(0);
    expect(await ok("scale deploy scaled -n shop --replicas=3")).toContain("scaled");
    expect(await ok("get deploy scaled -n shop -o jsonpath={.spec.replicas},{.metadata.generation}")).toBe("3,2");
    expect((await kubectl("scale deploy scaled -n shop --current-replicas=7 --replicas=1")).code).toBe(1);
    expect(
      await ok("get deploy scaled -n shop --subresource=scale -o jsonpath={.spec.replicas},{.status.selector}"),
    ).toBe("3,app=s");
    expect((await kubectl("scale deploy absent -n shop --replicas=1")).err).toContain("not found");
  });

  test("api-resources", async () => {
    const lines = (await ok("api-resources --no-headers")).split("\n");
    for (const wanted of [
      /^pods +po +v1 +true +Pod$/,
      /^virtualservices +vs +networking.istio.io\/v1 +true +VirtualService$/,
      /^httproutes +gateway.networking.k8s.io\/v1 +true +HTTPRoute$/,
    ])
      expect(lines.some((line) => wanted.test(line))).toBe(true);
    expect(await ok("api-versions")).toContain("networking.istio.io/v1alpha3\n");
  });

  test("wait for a condition, a field, and an end", async () => {
    const waiting = ok(`wait pod/reviews-v1 -n shop --for=condition=Ready --timeout=10s`);
    await ok(
      `patch pod reviews-v1 -n shop --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"}],"phase":"Running"}}'`,
    );
    expect(await waiting).toContain("condition met");
    await ok(`wait pod/reviews-v1 -n shop '--for=jsonpath={.status.phase}=Running' --timeout=10s`);
    await ok("create cm brief -n shop");
    const gone = ok("wait cm/brief -n shop --for=delete --timeout=10s");
    await ok("delete cm brief -n shop");
    await gone;
  });

  test("create token for an audience, and ask who may do what", async () => {
    await ok("create sa bob -n shop");
    const token = (await ok("create token bob -n shop --audience=istio-ca")).trim();
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims).toMatchObject({ aud: ["istio-ca"], sub: `system:serviceaccount:${namespace}:bob` });
    await ok("create role reader -n shop --verb=get,list --resource=pods");
    await ok("create rolebinding reader -n shop --role=reader --serviceaccount=shop:bob");
    const bob = "-n shop --as=system:serviceaccount:shop:bob";
    expect(await ok(`auth can-i list pods ${bob}`)).toBe("yes\n");
    expect((await kubectl(`auth can-i delete pods ${bob}`)).out).toBe("no\n");
    expect(await ok(`get pods ${bob} -l app=reviews -o name`)).toBe("pod/reviews-v1\n");
    expect(await refused(`get secrets ${bob}`)).toContain('cannot list resource "secrets"');
    expect(await ok("auth whoami")).toContain("system:masters");
  });

  test("a CustomResourceDefinition of one's own is served at once, checked and printed", async () => {
    await ok("apply -f -", crontabs);
    await ok("wait crd/crontabs.example.com --for=condition=Established --timeout=5s");
    await ok(
      "apply -f -",
      `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"shop"},"spec":{"cron":"* * *"}}`,
    );
    expect(await ok("get ct -n shop --no-headers")).toMatch(/^a +\* \* \* +1 +\d+s\n$/);
    expect(
      await refused(
        "apply -f -",
        `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"b","namespace":"shop"},"spec":{"cron":"x","replicas":20}}`,
      ),
    ).toContain("spec.replicas: Invalid value");
    await ok("delete crd crontabs.example.com");
    expect(await refused("get ct -n shop")).toMatch(/NotFound|doesn't have a resource type/);
    await ok("apply -f -", crontabs);
    expect(await ok("get ct -n shop -o name")).toBe("");
  });

  test("watch sees what happens", async () => {
    await ok("create cm seen -n shop");
    const env = { PATH: process.env.PATH, HOME: cluster.dir, KUBECONFIG: cluster.kubeconfig };
    const watching = spawn("kubectl", ["get", "cm", "seen", "-n", namespace, "-w", "-o", "jsonpath={.data.a}{'\\n'}"], {
      env,
    });
    const lines = createInterface({ input: watching.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("");
    await ok(`patch cm seen -n shop -p '{"data":{"a":"1"}}'`);
    expect((await lines.next()).value).toBe("1");
    watching.kill();
  });

  test("dry run changes nothing", async () => {
    expect(await ok("create cm dry -n shop --dry-run=server")).toContain("created (server dry run)");
    expect(await refused("get cm dry -n shop")).toContain("NotFound");
  });
});

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: reviews, namespace: shop, labels: {app: reviews}}
spec:
  selector: {app: reviews}
  ports: [{name: http, port: 9080}]
---
apiVersion: v1
kind: Pod
metadata: {name: reviews-v1, namespace: shop, labels: {app: reviews}}
spec:
  containers: [{name: app, image: "x:1", ports: [{containerPort: 9080}]}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [reviews]
  http:
  - route: [{destination: {host: reviews, subset: v1}}]
`;

const virtualService = (spec: object): string =>
  JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "made", namespace: "shop" },
    spec,
  });
const configMap = (fields: object): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "made", namespace: "shop" }, ...fields });

const crontabs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cron}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cron]
            properties:
              cron: {type: string}
              replicas: {type: integer, default: 1, maximum: 10}
`;
