/** The mesh's settings and the injector's, in the ConfigMaps that istioctl and istiod know. */
import { type Data, merge, namespace, print, set, text, value, when } from "../expression.ts";
import { labels, revised, serviceName } from "../names.ts";

const configMap = (name: string, data: Data): Data => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: revised(name), namespace, labels: labels("istiod") },
  data,
});

const meshConfig = merge(
  {
    rootNamespace: namespace,
    defaultConfig: {
      discoveryAddress: text(serviceName, ".", namespace, ".svc:15012"),
      meshId: when(set(value("global.meshID")), value("global.meshID"), ""),
    },
  },
  value("meshConfig"),
);

export const mesh: Data = configMap("istio", {
  mesh: print("yaml", meshConfig),
  meshNetworks: print("yaml", { networks: value("meshNetworks") }),
});

const webhook = (name: string): Data => value(`sidecarInjectorWebhook.${name}`);

export const injectorConfig: Data = configMap("istio-sidecar-injector", {
  config: print("yaml", {
    policy: value("global.proxy.autoInject"),
    defaultTemplates: webhook("defaultTemplates"),
    alwaysInjectSelector: webhook("alwaysInjectSelector"),
    neverInjectSelector: webhook("neverInjectSelector"),
    injectedAnnotations: webhook("injectedAnnotations"),
    templates: webhook("templates"),
  }),
  values: print("json", {
    revision: value("revision"),
    global: merge(value("global"), { istioNamespace: namespace }),
    pilot: { cni: value("pilot.cni"), env: value("pilot.env"), crlConfigMapName: value("pilot.crlConfigMapName") },
    gateways: value("gateways"),
    sidecarInjectorWebhook: { rewriteAppHTTPProbe: webhook("rewriteAppHTTPProbe") },
  }),
});
