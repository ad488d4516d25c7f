import { get } from "node:http";
import { connect } from "node:http2";
import { request as post } from "node:https";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { json, startServer } from "../fetch/testing.ts";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { Edge_Protocol, Edge_Side } from "../gen/fairlead/traffic_pb.js";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../gen/istio/auth_pb.js";
import { kubeKinds, requestToken } from "../kube/index.ts";
import {
  createOverload,
  descriptorLimit,
  type Logger,
  readList,
  readRecord,
  readText,
  silentLogger,
  watchHeap,
} from "../lib/index.ts";
import { type KubeObject, types } from "../model/index.ts";
import { metricNames, sampleLabels } from "../ops/index.ts";
import { createCsr, generateKey } from "../pki/index.ts";
import { createRpcClient, protoMethod } from "../rpc/index.ts";
import { requests } from "../traffic/testing.ts";
import { deltaMethod } from "../xds/index.ts";
import { type ControlledApi, startControlledApi } from "./controllers/testing.ts";
import type { Discovery } from "./discovery.ts";
import { type Answers, allowSecrets, connectProxy, scrape, startPlane } from "./testing.ts";
import { chanceMetrics, rareMetrics, zeroMetrics } from "./testing-rare-metrics.ts";
import { startAgents } from "./traffic/testing.ts";
import { watchedKind } from "./watched-kinds.ts";

const istio = "networking.istio.io";
const object = (
  apiVersion: string,
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>>,
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const conditions = (of: KubeObject | undefined) =>
  readList(readRecord(of?.status).conditions)
    .map(readRecord)
    .map(({ type, status }) => `${readText(type)}=${readText(status)}`);

/** Where a line cannot be written, what is being rendered fails: a fault that no object of a user brings about. */
const failingOn = (text: string): Logger => ({
  ...silentLogger,
  warn(message) {
    if (message.includes(text)) throw new Error("cannot be told");
  },
  scope: () => failingOn(text),
});

describe("the control plane on an API", () => {
  let world: ControlledApi;
  let plane: Discovery;
  /** Of the processor, when it is looked next what time it is. */
  let holdUpMs = 0;

  beforeAll(async () => {
    world = await startControlledApi();
    await allowSecrets(world);
    plane = await startPlane(world, {
      overload: createOverload({
        heap: watchHeap([]),
        descriptorLimit: descriptorLimit(),
        log: silentLogger,
        monotonicMs: () => performance.now(),
      }),
      analysis: true,
      log: failingOn("faulty"),
      now() {
        const usedMs = (): number => process.threadCpuUsage().user / 1000;
        for (const endMs = usedMs() + holdUpMs; usedMs() < endMs; );
        holdUpMs = 0;
        return new Date();
      },
    });
  });
  afterAll(async () => {
    await plane.close();
    await world.close();
  });

  test("debug paths are open on loopback to who asks by its name, not to a page that was led here by another", async () => {
    const { host, port } = plane.addresses.monitoring;
    const statusFor = (name: string, more: Readonly<Record<string, string>> = {}): Promise<number> =>
      new Promise((resolve, reject) => {
        get({ host, port, path: "/debug/syncz", headers: { host: name, ...more } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        }).on("error", reject);
      });
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200);
    expect(await statusFor("localhost:15014")).toBe(200);
    expect(await statusFor("attacker.example")).toBe(401);
    // Asking alone may do something, such as opening a tap.
    for (const site of ["cross-site", "same-site"])
      expect(await statusFor("localhost:15014", { "sec-fetch-site": site })).toBe(401);
    expect(await statusFor("localhost:15014", { "sec-fetch-site": "none" })).toBe(200);
  });

  test("the leader gives addresses, writes statuses and tells problems, with the rights of the control plane alone", async () => {
    await world.create(
      object(`${istio}/v1`, "ServiceEntry", "out", {
        hosts: ["out.example.com"],
        resolution: "DNS",
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      }),
    );
    await world.create(
      object("gateway.networking.k8s.io/v1", "Gateway", "edge", {
        gatewayClassName: "istio",
        listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      }),
    );
    await world.create(
      object(`${istio}/v1`, "VirtualService", "lost", {
        hosts: ["lost.example.com"],
        gateways: ["nowhere"],
        http: [{ route: [{ destination: { host: "out.example.com" } }] }],
      }),
    );
    await world.until(
      istio,
      "ServiceEntry",
      "default/out",
      (now) => readList(readRecord(now?.status).addresses).length === 2,
    );
    await world.until("gateway.networking.k8s.io", "GatewayClass", "istio", (now) =>
      conditions(now).includes("Accepted=True"),
    );
    await world.until("gateway.networking.k8s.io", "Gateway", "default/edge", (now) =>
      conditions(now).includes("Accepted=True"),
    );
    await world.until(istio, "VirtualService", "default/lost", (now) => conditions(now).includes("Reconciled=False"));
    expect(await scrape(plane)).toMatch(/^pilot_total_rejected_configs\{type="virtualservice"\} 1$/m);
  });

  test("webhook configurations of our revision get our root, and fail closed once the webhook answers", async () => {
    const { host, port } = plane.addresses.https;
    const configuration = (
      kind: string,
      name: string,
      revision: string,
      webhook: string,
      path: string,
    ): KubeObject => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name, labels: { app: "istiod", "istio.io/rev": revision } },
      webhooks: [
        {
          name: webhook,
          clientConfig: { url: `https://${host}:${port}/${path}` },
          rules: [
            { operations: ["CREATE"], apiGroups: [istio], apiVersions: ["*"], resources: ["gateways", "sidecars"] },
          ],
          failurePolicy: "Ignore",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    const injector = "namespace.sidecar-injector.istio.io";
    await world.create(configuration("MutatingWebhookConfiguration", "other", "canary", injector, "inject"));
    await world.create(configuration("MutatingWebhookConfiguration", "ours", "default", injector, "inject"));
    await world.create(
      configuration("ValidatingWebhookConfiguration", "ours", "default", "rev.validation.istio.io", "validate"),
    );
    const admission = "admissionregistration.k8s.io";
    const webhookOf = (now: KubeObject | undefined) => readRecord(readList(now?.["webhooks"])[0]);
    const bundleOf = (now: KubeObject | undefined) => readRecord(webhookOf(now)["clientConfig"])["caBundle"];
    const mutating = await world.until(
      admission,
      "MutatingWebhookConfiguration",
      "ours",
      (now) => bundleOf(now) !== undefined,
    );
    expect(webhookOf(mutating)["failurePolicy"]).toBe("Ignore");
    await world.until(
      admission,
      "ValidatingWebhookConfiguration",
      "ours",
      (now) => bundleOf(now) !== undefined && webhookOf(now)["failurePolicy"] === "Fail",
    );
    expect(bundleOf(world.objects(admission, "MutatingWebhookConfiguration").get("other"))).toBeUndefined();
    const told = await scrape(plane);
    expect(told).toMatch(/^webhook_patch_attempts_total\{name="ours"\} /m);
    expect(told).toMatch(/^galley_validation_config_updates [1-9]/m);
  });

  test("a Pod of a namespace that asks for it is injected by the API server's call", async () => {
    const { host, port } = plane.addresses.https;
    const admission = "admissionregistration.k8s.io";
    await world.create({
      apiVersion: `${admission}/v1`,
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "istio-sidecar-injector", labels: { "istio.io/rev": "default" } },
      webhooks: [
        {
          name: "namespace.sidecar-injector.istio.io",
          clientConfig: { url: `https://${host}:${port}/inject` },
          rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
          namespaceSelector: { matchLabels: { "istio-injection": "enabled" } },
          failurePolicy: "Fail",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    await world.until(admission, "MutatingWebhookConfiguration", "istio-sidecar-injector", (now) =>
      JSON.stringify(now ?? {}).includes("caBundle"),
    );
    const labels = { "istio-injection": "enabled" };
    await world.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels } });
    const podIn = (namespace: string): KubeObject => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace },
      spec: { containers: [{ name: "app", image: "app:1" }] },
    });
    const containers = (pod: KubeObject) =>
      ["initContainers", "containers"].flatMap((list) =>
        readList(readRecord(pod.spec)[list]).map((one) => readRecord(one).name),
      );
    expect(containers(await world.create(podIn("shop")))).toEqual(["istio-init", "istio-proxy", "app"]);
    expect(containers(await world.create(podIn("default")))).toEqual(["app"]);
    expect(await scrape(plane)).toMatch(/^sidecar_injection_success_total [1-9]/m);
  });

  test("calls of webhooks are counted by what became of them", async () => {
    const { host, port } = plane.addresses.https;
    const call = (path: string, body: string, type = "application/json"): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const options = {
          host,
          port,
          path,
          method: "POST",
          rejectUnauthorized: false,
          headers: { "content-type": type },
        };
        post(options, (answer) => answer.resume().on("end", resolve))
          .on("error", reject)
          .end(body);
      });
    const review = (reviewed: KubeObject): string => {
      const [group = "", version = ""] = reviewed.apiVersion.includes("/")
        ? reviewed.apiVersion.split("/")
        : ["", "v1"];
      const kind = { group, version, kind: reviewed.kind };
      const request = { uid: "1", kind, operation: "CREATE", namespace: "default", object: reviewed };
      return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
    };
    const sidecar = (hosts: readonly string[]): KubeObject =>
      object(`${istio}/v1`, "Sidecar", "reviewed", { egress: [{ hosts }] });
    await call("/validate", review(sidecar(["./*"])));
    await call("/validate", review(sidecar(["no-slash"])));
    await call("/validate", "{}", "text/plain");
    const containers = [{ name: "app", image: "app:1" }];
    await call("/inject", review(object("v1", "Pod", "host", { hostNetwork: true, containers })));
    await call("/inject", "{}", "text/plain");
    const told = await scrape(plane);
    expect(told).toMatch(/^galley_validation_passed [1-9]/m);
    expect(told).toMatch(/^galley_validation_failed\{reason="[^"]+"\} [1-9]/m);
    expect(told).toMatch(/^galley_validation_http_error\{status="415"\} 1$/m);
    expect(told).toMatch(/^sidecar_injection_skip_total [1-9]/m);
    expect(told).toMatch(/^sidecar_injection_failure_total 1$/m);
  });

  test("a route that waits for a cluster which a proxy refuses is counted by its type", async () => {
    const web = (name: string): KubeObject =>
      object("v1", "Service", name, { ports: [{ name: "http", port: 80 }], selector: { app: name } });
    await world.create(web("early"));
    const refusesLate: Answers = ({ typeUrl, resources }) =>
      typeUrl === types.cluster && resources.some(({ name }) => name.includes("late.default")) ? "no" : undefined;
    const proxy = await connectProxy(plane, "choosy.default", ["80"], refusesLate);
    await expect.poll(() => proxy.responses.get("RouteConfiguration")).toBe(1);
    await world.create(web("late"));
    await expect.poll(() => scrape(plane)).toMatch(/^fairlead_xds_held_back\{type="rds"\} [1-9]/m);
    // Gone with its stream: names of departed proxies would gather.
    const refused = /^pilot_xds_cds_reject\{node="choosy.default",err="Internal"\} [1-9]/m;
    // The route waits for no longer than some seconds, be the answer of a busy proxy there by then or not.
    await expect.poll(() => scrape(plane)).toMatch(refused);
    proxy.close();
    await expect.poll(() => scrape(plane)).not.toMatch(refused);
  });

  test("where asked for, what proxies have is compared with a fresh start that knows the same settings", async () => {
    const data = { mesh: "accessLogFile: /dev/stdout" };
    await world.create({
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio-checked", namespace: "istio-system" } },
      data,
    });
    const checked = await startPlane(world, {
      checkIncremental: true,
      revision: "checked",
      identity: "istiod-checked",
    });
    const proxy = await connectProxy(checked, "checked.default", ["80"]);
    const count = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (\\d+)$`, "m").exec(await scrape(checked))?.[1] ?? 0);
    await expect.poll(() => count("fairlead_incremental_checks")).toBeGreaterThan(0);
    const before = await count("fairlead_incremental_checks");
    const ports = [{ name: "http", port: 80 }];
    await world.create(object("v1", "Service", "checked", { ports, selector: { app: "checked" } }));
    await expect.poll(() => count("fairlead_incremental_checks")).toBeGreaterThan(before);
    expect(await count("fairlead_incremental_differences")).toBe(0);
    proxy.close();
    await checked.close();
  });

  test("keys of RequestAuthentications that are fetched, or cannot be, are counted", async () => {
    const keys = await startServer();
    keys.answer("/good", json({ keys: [{ kty: "RSA", kid: "1", n: "AQAB", e: "AQAB" }] }));
    const tokens = (name: string): KubeObject =>
      object("security.istio.io/v1", "RequestAuthentication", name, {
        jwtRules: [{ issuer: name, jwksUri: `${keys.url}/${name}` }],
      });
    await world.create(tokens("good"));
    await world.create(tokens("missing"));
    await expect.poll(() => scrape(plane)).toMatch(/^pilot_jwks_resolver_network_fetch_success_total [1-9]/m);
    await expect.poll(() => scrape(plane)).toMatch(/^pilot_jwks_resolver_network_fetch_fail_total [1-9]/m);
    await keys.close();
  });

  test("an EnvoyFilter is told to be applied or not for as long as it is there", async () => {
    const clusters = (patch: object): object => ({ applyTo: "CLUSTER", match: { context: "SIDECAR_OUTBOUND" }, patch });
    const configPatches = ["7s", "soon"].map((connect_timeout) =>
      clusters({ operation: "MERGE", value: { connect_timeout } }),
    );
    for (const name of ["patches", "stays"])
      await world.create(object(`${istio}/v1alpha3`, "EnvoyFilter", name, { configPatches }));
    const proxy = await connectProxy(plane, "patched.default", []);
    const line = (result: string): RegExp =>
      new RegExp(`^pilot_envoy_filter_status{name="default/patches",patch="[^"]+",result="${result}"} 1$`, "m");
    await expect.poll(() => scrape(plane)).toMatch(line("applied"));
    await expect.poll(() => scrape(plane)).toMatch(line("error"));
    await world.admin.delete(watchedKind(istio, "EnvoyFilter"), { name: "patches", namespace: "default" });
    await expect.poll(() => scrape(plane)).not.toContain("default/patches");
    expect(await scrape(plane)).toContain("default/stays");
    proxy.close();
  });

  test("what a user wrote and cannot be used is counted once, however many proxies meet it", async () => {
    await world.create(
      object("security.istio.io/v1", "RequestAuthentication", "unusable", { jwtRules: [{ issuer: "i", jwks: "{}" }] }),
    );
    const proxies = await Promise.all(["x", "y"].map((name) => connectProxy(plane, `${name}.default`, [])));
    await expect.poll(() => scrape(plane)).toMatch(/^fairlead_settings_not_usable 1$/m);
    for (const proxy of proxies) proxy.close();
  });

  test("a resource that cannot be made because of a fault is counted, and the others are sent", async () => {
    await world.create(
      object("security.istio.io/v1", "RequestAuthentication", "faulty", {
        jwtRules: [{ issuer: "i", jwks: "{}" }],
      }),
    );
    const proxy = await connectProxy(plane, "faulty.default", []);
    await expect.poll(() => scrape(plane)).toMatch(/^fairlead_render_faults [1-9]/m);
    await expect.poll(() => proxy.responses.get("Cluster")).toBe(1);
    await world.admin.delete(watchedKind("security.istio.io", "RequestAuthentication"), {
      ...{ name: "faulty", namespace: "default" },
    });
    proxy.close();
  });

  test("a proxy that reads nothing of what it is sent is counted when its time to be written to is over", async () => {
    const hosts = Array.from({ length: 250 }, (_, i) => `h${i}.example.com`);
    const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
    await world.create(object(`${istio}/v1`, "ServiceEntry", "much", { hosts, ports, resolution: "NONE" }));
    const { host, port } = plane.addresses.grpc;
    const session = connect(`http://${host}:${port}`, { settings: { initialWindowSize: 1 } });
    const stream = session.request({
      ":method": "POST",
      ":path": deltaMethod.path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => {});
    const node = { id: "sidecar~10.0.0.1~stalled.default~default.svc.cluster.local" };
    const request = create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster });
    const bytes = toBinary(DeltaDiscoveryRequestSchema, request);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.length, 1);
    stream.write(Buffer.concat([head, bytes]));
    await expect.poll(() => scrape(plane)).toMatch(/^pilot_xds_write_timeout [1-9]/m);
    session.destroy();
  });

  test("certificates that are asked for are counted by what becomes of each", async () => {
    await world.create(object("v1", "ServiceAccount", "web", {}));
    const order = { namespace: "default", serviceAccount: "web", audiences: ["istio-ca"] };
    const { token } = await requestToken(world.admin, order);
    const { data } = await world.admin.get(kubeKinds.secrets, { name: "istio-ca-secret", namespace: "istio-system" });
    const ca = Buffer.from(readText(readRecord(data)["ca-cert.pem"]), "base64").toString();
    const csr = createCsr({ key: await generateKey() });
    const method = protoMethod(IstioCertificateService.method.createCertificate);
    const asks = (metadata: Readonly<Record<string, string>>) => async (request: object) => {
      const client = createRpcClient({
        ...{ target: plane.addresses.secureGrpc, tls: () => ({ ca }), metadata: async () => metadata },
      });
      const answer = client.unary(method, create(IstioCertificateRequestSchema, { csr, ...request }));
      await answer.catch(() => {}).finally(client.close);
    };
    const [nobody, web] = [asks({}), asks({ authorization: `Bearer ${token}` })];
    await nobody({});
    await web({});
    await web({ csr: "junk" });
    await web({ metadata: { ImpersonatedIdentity: "spiffe://cluster.local/nobody" } });
    const told = await scrape(plane);
    expect(told).toMatch(/^citadel_server_csr_count 4$/m);
    expect(told).toMatch(/^citadel_server_success_cert_issuance_count 1$/m);
    expect(told).toMatch(/^citadel_server_authentication_failure_count 2$/m);
    expect(told).toMatch(/^citadel_server_id_extraction_err_count 1$/m);
    expect(told).toMatch(/^citadel_server_csr_parsing_err_count 1$/m);
    expect(told).toMatch(/^citadel_server_csr_sign_err_count\{error="CSR_ERROR"\} 1$/m);
  });

  test("a request that holds up all others is counted", async () => {
    expect(await scrape(plane)).toMatch(/^fairlead_long_turns_total \d+$/m);
    // Something else may look first.
    const afterOne = async (): Promise<string> => {
      holdUpMs = 150;
      const proxy = await connectProxy(plane, "slow.default", []);
      await expect.poll(() => proxy.responses.get("Cluster")).toBe(1);
      proxy.close();
      return scrape(plane);
    };
    await expect.poll(afterOne).toMatch(/^fairlead_long_turns_total [1-9]/m);
  });

  test("a busy control plane has a value for every metric that is declared, but for the rare ones", async () => {
    // So many names of nobody known that some are counted together.
    const edges = Array.from({ length: 300 }, (_, i) => ({
      ...{ side: Edge_Side.SOURCE, protocol: Edge_Protocol.HTTP, counts: requests(1) },
      peer: { namespace: "default", workload: `w${i}`, app: "w", version: "v1" },
    }));
    const agents = await startAgents(world);
    await agents.report(plane, "told", "default", edges);
    const rpc = createRpcClient({ target: plane.addresses.grpc });
    const stream = await rpc.stream(deltaMethod);
    const send = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Promise<void> =>
      stream.send(create(DeltaDiscoveryRequestSchema, init));
    const next = async (typeUrl: string): Promise<DeltaDiscoveryResponse> => {
      const answer = await stream.messages.next();
      if (answer.done) throw new Error("the stream has ended");
      return answer.value.typeUrl === typeUrl ? answer.value : next(typeUrl);
    };
    const says: Answers = ({ typeUrl }) => (typeUrl === types.cluster ? "no" : undefined);
    const refuses = await connectProxy(plane, "refuses.default", [], says);
    await expect
      .poll(() => scrape(plane))
      .toMatch(/^pilot_xds_cds_reject\{node="refuses.default",err="Internal"\} [1-9]/m);
    const node = { id: "sidecar~10.0.0.1~busy.default~default.svc.cluster.local" };
    await send({ node, typeUrl: types.cluster });
    await send({ typeUrl: types.cluster, responseNonce: (await next(types.cluster)).nonce });
    await send({ typeUrl: types.listener });
    const refused = await next(types.listener);
    const errorDetail = { code: 13, message: "no" };
    await send({ typeUrl: types.listener, responseNonce: refused.nonce, errorDetail });
    await world.create(
      object("v1", "Service", "busy", { ports: [{ name: "http", port: 80 }], selector: { app: "busy" } }),
    );
    await send({ typeUrl: types.cluster, responseNonce: (await next(types.cluster)).nonce });
    for (const [typeUrl, name] of [
      [types.endpoint, "outbound|80||busy.default.svc.cluster.local"],
      [types.route, "80"],
    ] as const) {
      await send({ typeUrl, resourceNamesSubscribe: [name] });
      await send({ typeUrl, responseNonce: (await next(typeUrl)).nonce, errorDetail });
    }
    await expect.poll(() => scrape(plane)).toMatch(/^pilot_xds_rds_reject\{node="busy.default",err="Internal"\} 1$/m);
    // It is looked for in turns, a moment later.
    await expect.poll(() => scrape(plane)).toMatch(/^fairlead_refused_objects(\{.*\})? [1-9]/m);
    const told = await scrape(plane);
    rpc.close();
    refuses.close();
    agents.close();
    const silent = metricNames.filter((name) => !new RegExp(`^${name}(_count)?(\\{.*\\})? (?!0$)`, "m").test(told));
    // Neither more nor less: what has a value here is no exception.
    expect(silent.filter((name) => !chanceMetrics.has(name)).toSorted()).toEqual(
      [...rareMetrics.keys(), ...zeroMetrics.keys()].toSorted(),
    );
    const samples = [...told.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)];
    for (const [, name = "", labels = ""] of samples)
      expect([...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).toSorted(), `labels of ${name}`).toEqual(
        sampleLabels.get(name)?.toSorted(),
      );
    expect(told).toMatch(/^pilot_virt_services [1-9]/m);
    // No service selects the proxy.
    expect(told).toMatch(/^pilot_no_ip [1-9]/m);
    expect(told).toMatch(/^pilot_k8s_proxies_with_no_service_targets\{reason="no_matching_services"\} [1-9]/m);
    expect(told).toMatch(/^pilot_inbound_updates\{type="svc"\} [1-9]/m);
    // Changes that the API tells, and work that a leader writes back.
    for (const id of ["Kubernetes", "namespace controller", "ip-autoallocate", "gateway status", "analysis status"])
      for (const figure of ["depth", "latency_count", "duration_count"])
        expect(told).toMatch(new RegExp(`^pilot_worker_queue_${figure}{queueID="${id}"} \\d+$`, "m"));
    expect(told).toMatch(/^controller_sync_errors_total\{cluster="Kubernetes"\} \d+$/m);
  });
});
