import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isRecord, parseYaml, readList, readRecord } from "../lib/index.ts";
import { type Outcome, runCli } from "./testing.ts";

type Fields = Readonly<Record<string, unknown>>;

const folder = mkdtempSync(join(tmpdir(), "kube-inject-"));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const pod = (annotations: Fields = {}, spec: Fields = {}): Fields => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop", annotations },
  spec: { containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }], ...spec },
});

const inject = (input: unknown, ...flags: readonly string[]): Promise<Outcome> =>
  runCli(["kube-inject", "-f", file("input.yaml", input), ...flags], folder);

async function injected(input: unknown, ...flags: readonly string[]): Promise<Fields> {
  const { status, stdout, stderr } = await inject(input, ...flags);
  expect(stderr).toBe("");
  expect(status).toBe(0);
  const [object] = parseYaml(stdout);
  return readRecord(object);
}

const containers = (object: Fields, list = "containers"): readonly Fields[] =>
  readList(readRecord(object.spec)[list]).filter(isRecord);
const proxyOf = (object: Fields): Fields => containers(object).find(({ name }) => name === "istio-proxy") ?? {};
const envOf = (object: Fields, name: string): unknown =>
  readList(proxyOf(object).env)
    .filter(isRecord)
    .find((item) => item.name === name)?.value;

test("a Pod gets Fairlead's own image where nothing else is said, and Istio's by one setting", async () => {
  expect(proxyOf(await injected(pod())).image).toMatch(/\/fairlead:\d/);
  const values = file("values.yaml", "global: {hub: docker.io/istio, tag: 1.31.0, proxy: {image: proxyv2}}");
  expect(proxyOf(await injected(pod(), "--valuesFile", values)).image).toBe("docker.io/istio/proxyv2:1.31.0");
});

test("values that are left out of the file keep their defaults", async () => {
  const values = file("values.yaml", "global: {logAsJson: true}");
  const proxy = proxyOf(await injected(pod(), "--valuesFile", values));
  expect(proxy.args).toContain("--log_as_json");
  expect(proxy.args).toContain("--proxyLogLevel=warning");
  expect(proxy.resources).toMatchObject({ limits: { cpu: "2", memory: "1Gi" } });
});

test("no annotation can add to the structure", async () => {
  const hostile = '"\n    command: ["evil"]\n  - name: extra\n    image: evil';
  const names = ["logLevel", "componentLogLevel", "agentLogLevel", "bootstrapOverride", "proxyImage"];
  const annotations = Object.fromEntries(names.map((name) => [`sidecar.istio.io/${name}`, hostile]));
  const object = await injected(pod({ ...annotations, "sidecar.istio.io/nativeSidecar": "false" }));
  expect(containers(object).map(({ name }) => name)).toEqual(["app", "istio-proxy"]);
  expect(containers(object, "initContainers").map(({ name }) => name)).toEqual(["istio-init"]);
  expect(proxyOf(object).command).toBeUndefined();
  expect(proxyOf(object).args).toContain(`--proxyLogLevel=${hostile}`);
});

test.each([
  ["traffic.sidecar.istio.io/excludeInboundPorts", "http"],
  ["traffic.sidecar.istio.io/excludeInterfaces", "eth0;reboot"],
  ["sidecar.istio.io/interceptionMode", "MAYBE"],
  ["sidecar.istio.io/proxyCPU", "much"],
  ["sidecar.istio.io/userVolume", "{"],
  ["sidecar.istio.io/userVolumeMount", '"/data"'],
  ["proxy.istio.io/config", "concurrency: many"],
  ["proxy.istio.io/overrides", "[]"],
  ["inject.istio.io/templates", "nope"],
])("%s: %s is refused by name", async (name, value) => {
  const { status, stdout, stderr } = await inject(pod({ [name]: value }));
  expect(status).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain(name === "inject.istio.io/templates" ? '"nope" not found' : name);
});

test("an annotation that nothing reads is refused with the one that was meant", async () => {
  const { status, stderr } = await inject(pod({ "sidecar.istio.io/logLvel": "debug" }));
  expect(status).toBe(1);
  expect(stderr).toContain("unknown annotation 'sidecar.istio.io/logLvel'; did you mean 'sidecar.istio.io/logLevel'?");
});

test("objects without Pods keep their bytes, comments and all", async () => {
  const service = "# ours\napiVersion: v1\nkind:   Service\nmetadata: {name: web}   # short\n";
  const other = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: x}\n";
  const { stdout } = await inject(`${service}---\n\n---\n${other}`);
  expect(stdout).toBe(`${service}---\n${other}---\n`);
});

// Kubernetes' strategic merge knows ports by their number alone, and Istio's injection with it.
test("of a gateway's port for two protocols the later is told twice, as by istioctl", async () => {
  const [tcp, udp] = [
    { containerPort: 443, protocol: "TCP", name: "https" },
    { containerPort: 443, protocol: "UDP", name: "quic" },
  ];
  const spec = { containers: [{ name: "istio-proxy", image: "auto", ports: [tcp, udp] }] };
  const object = await injected(pod({ "inject.istio.io/templates": "gateway" }, spec));
  expect(readList(proxyOf(object).ports)).toEqual([
    { containerPort: 15090, name: "http-envoy-prom", protocol: "TCP" },
    udp,
    udp,
  ]);
});

const config = (template: string): string => file("config.yaml", { templates: { custom: template } });
const withCustom = { "inject.istio.io/templates": "sidecar,custom", "shop/tier": "1\n- evil: true" };

test("a user's template is laid over the built-in one, with values in its scalars only", async () => {
  const template = `
metadata:
  labels:
    owner: "{{ .DeploymentMeta.Name | default "none" }}"
spec:
  terminationGracePeriodSeconds: {{ index .ObjectMeta.Annotations "grace" | default "30" }}
  containers:
  - name: istio-proxy
    env:
    - name: TIER
      value: {{ annotation .ObjectMeta "shop/tier" "none" | quote }}
    - name: LEVEL
      value: 'level {{ .Values.global.proxy.logLevel | default "x" | toLower }} {{ .ProxyConfig.StatusPort }}'
`;
  const object = await injected(pod({ ...withCustom, grace: "7" }), "--injectConfigFile", config(template));
  expect(readRecord(readRecord(object.metadata).labels).owner).toBe("web");
  expect(readRecord(object.spec).terminationGracePeriodSeconds).toBe(7);
  expect(envOf(object, "TIER")).toBe("1\n- evil: true");
  expect(envOf(object, "LEVEL")).toBe("level x 15020");
});

test.each([
  ["{{ if true }}a: b{{ end }}", "{{ if true }} is not supported"],
  ["{{ range .Spec.Containers }}{{ end }}", "{{ range .Spec.Containers }} is not supported"],
  ['metadata: {name: \'{{ env "HOME" "" }}\'}', "env is not known"],
  ["metadata: {name: '{{ .Nothing }}'}", "no such value"],
  ["metadata: {name: '{{ .ObjectMeta }}'}", "not a single value"],
  ["metadata: {name: '{{ .constructor }}'}", "no such value"],
  ["a: [", "not YAML"],
  ["metadata: {name: '{{ .Revision '}", "no end"],
])("the template %j is refused: %s", async (template, why) => {
  const { status, stderr } = await inject(pod(withCustom), "--injectConfigFile", config(template));
  expect(status).toBe(1);
  expect(stderr).toContain("template custom");
  expect(stderr).toContain(why);
});

test("a template that cannot be used is no harm to Pods that do not ask for it", async () => {
  await injected(pod(), "--injectConfigFile", config("{{ if }}"));
});

test("policy and selectors of the injector's config hold", async () => {
  const injectConfig = file("config.yaml", {
    policy: "disabled",
    templates: {},
    alwaysInjectSelector: [{ matchLabels: { app: "yes" } }],
    injectedAnnotations: { "example.com/note": "x" },
  });
  const { stderr } = await inject(pod(), "--injectConfigFile", injectConfig);
  expect(stderr).toContain("sidecar injection disabled");
  const selected = { ...pod(), metadata: { name: "web", labels: { app: "yes" } } };
  const object = await injected(selected, "--injectConfigFile", injectConfig);
  expect(readRecord(readRecord(object.metadata).annotations)["example.com/note"]).toBe("x");
});

test("the revision is told, and -o writes a file", async () => {
  const out = join(folder, "out.yaml");
  const { stdout } = await inject(pod(), "--revision", "canary", "-o", out);
  expect(stdout).toBe("");
  expect(readFileSync(out, "utf8")).toContain("istio.io/rev: canary");
});
