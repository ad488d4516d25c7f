/** The Gateway API's Gateway: listeners and who may attach to them. */
import { array, enumOf, type Infer, int32, map, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import {
  gatewayApiCertificateRef,
  gatewayApiConditions,
  gatewayApiInfrastructureParametersRef,
  gatewayApiListeners,
  gatewayApiParametersRef,
  gatewayApiSelector,
  gatewayApiStatusListener,
} from "./shared.ts";
import { portNumber, waitingFor } from "./words.ts";

const addressType = string({
  default: "IPAddress",
  pattern:
    "^Hostname|IPAddress|NamedAddress|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
  minLength: 1,
  maxLength: 253,
});

/** What calls itself an address is one. */
const addressOfType = {
  oneOf: [
    { properties: { type: { enum: ["IPAddress"] }, value: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] } } },
    { properties: { type: { not: { enum: ["IPAddress"] } } } },
  ],
};

const kubeGatewayAddress = object(
  {
    type: addressType,
    value: string({ maxLength: 253 }),
  },
  {
    rules: [
      {
        message:
          "Hostname value must be empty or contain only valid characters (matching ^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)",
        rule: 'self.type == \'Hostname\' ? (!has(self.value) || self.value.matches(r"""^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$""")): true',
      },
    ],
    allOf: [addressOfType],
  },
);
export type KubeGatewayAddress = Infer<typeof kubeGatewayAddress>;

const kubeGatewayNamespaces = object(
  { from: enumOf(["All", "Selector", "Same", "None"], { default: "None" }), selector: gatewayApiSelector },
  { default: { from: "None" } },
);
export type KubeGatewayNamespaces = Infer<typeof kubeGatewayNamespaces>;

const kubeGatewayAllowedListeners = object({ namespaces: kubeGatewayNamespaces });
export type KubeGatewayAllowedListeners = Infer<typeof kubeGatewayAllowedListeners>;

const kubeGatewayInfrastructure = object({
  annotations: map(string({ minLength: 0, maxLength: 4096 }), {
    rules: [
      {
        message:
          "Annotation keys must be in the form of an optional DNS subdomain prefix followed by a required name segment of up to 63 characters.",
        rule: 'self.all(key, key.matches(r"""^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"""))',
      },
      {
        message:
          "If specified, the annotation key's prefix must be a DNS subdomain not longer than 253 characters in total.",
        rule: 'self.all(key, key.split("/")[0].size() < 253)',
      },
    ],
    maxProperties: 16,
  }),
  labels: map(string({ pattern: "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", minLength: 0, maxLength: 63 }), {
    rules: [
      {
        message:
          "Label keys must be in the form of an optional DNS subdomain prefix followed by a required name segment of up to 63 characters.",
        rule: 'self.all(key, key.matches(r"""^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"""))',
      },
      {
        message:
          "If specified, the label key's prefix must be a DNS subdomain not longer than 253 characters in total.",
        rule: 'self.all(key, key.split("/")[0].size() < 253)',
      },
    ],
    maxProperties: 8,
  }),
  parametersRef: gatewayApiInfrastructureParametersRef,
});
export type KubeGatewayInfrastructure = Infer<typeof kubeGatewayInfrastructure>;

const kubeGatewayBackend = object({ clientCertificateRef: gatewayApiCertificateRef });
export type KubeGatewayBackend = Infer<typeof kubeGatewayBackend>;

const kubeGatewayValidation = object(
  {
    caCertificateRefs: array(gatewayApiParametersRef, { minItems: 1, maxItems: 16, listType: "atomic" }),
    mode: enumOf(["AllowValidOnly", "AllowInsecureFallback"], { default: "AllowValidOnly" }),
  },
  { required: ["caCertificateRefs"] },
);
export type KubeGatewayValidation = Infer<typeof kubeGatewayValidation>;

const kubeGatewayDefault = object({ validation: kubeGatewayValidation });
export type KubeGatewayDefault = Infer<typeof kubeGatewayDefault>;

const kubeGatewayPerPort = object({ port: portNumber(), tls: kubeGatewayDefault }, { required: ["port", "tls"] });
export type KubeGatewayPerPort = Infer<typeof kubeGatewayPerPort>;

const kubeGatewayFrontend = object(
  {
    default: kubeGatewayDefault,
    perPort: array(kubeGatewayPerPort, {
      rules: [
        {
          message: "Port for TLS configuration must be unique within the Gateway",
          rule: "self.all(t1, self.exists_one(t2, t1.port == t2.port))",
        },
      ],
      maxItems: 64,
      listType: "map",
      listMapKeys: ["port"],
    }),
  },
  { required: ["default"] },
);
export type KubeGatewayFrontend = Infer<typeof kubeGatewayFrontend>;

const kubeGatewayTls = object({ backend: kubeGatewayBackend, frontend: kubeGatewayFrontend });
export type KubeGatewayTls = Infer<typeof kubeGatewayTls>;

const kubeGatewaySpec = object(
  {
    addresses: array(kubeGatewayAddress, {
      rules: [
        {
          message: "IPAddress values must be unique",
          rule: "self.all(a1, a1.type == 'IPAddress' && has(a1.value) ? self.exists_one(a2, a2.type == a1.type && has(a2.value) && a2.value == a1.value) : true )",
        },
        {
          message: "Hostname values must be unique",
          rule: "self.all(a1, a1.type == 'Hostname'  && has(a1.value) ? self.exists_one(a2, a2.type == a1.type && has(a2.value) && a2.value == a1.value) : true )",
        },
      ],
      maxItems: 16,
      listType: "atomic",
    }),
    allowedListeners: kubeGatewayAllowedListeners,
    defaultScope: enumOf(["All", "None"]),
    gatewayClassName: string({ minLength: 1, maxLength: 253 }),
    infrastructure: kubeGatewayInfrastructure,
    listeners: gatewayApiListeners(
      "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
    ),
    tls: kubeGatewayTls,
  },
  { required: ["gatewayClassName", "listeners"] },
);
export type KubeGatewaySpec = Infer<typeof kubeGatewaySpec>;

const kubeGatewayStatusAddress = object(
  {
    type: addressType,
    value: string({ minLength: 1, maxLength: 253 }),
  },
  {
    rules: [
      {
        message:
          "Hostname value must only contain valid characters (matching ^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)",
        rule: 'self.type == \'Hostname\' ? self.value.matches(r"""^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"""): true',
      },
    ],
    required: ["value"],
    allOf: [addressOfType],
  },
);
export type KubeGatewayStatusAddress = Infer<typeof kubeGatewayStatusAddress>;

const kubeGatewayStatus = object(
  {
    addresses: array(kubeGatewayStatusAddress, { maxItems: 16, listType: "atomic" }),
    attachedListenerSets: int32(),
    conditions: gatewayApiConditions({ default: waitingFor("Accepted", "Programmed") }),
    listeners: array(gatewayApiStatusListener, { maxItems: 64, listType: "map", listMapKeys: ["name"] }),
  },
  {
    default: {
      conditions: waitingFor("Accepted", "Programmed"),
    },
  },
);
export type KubeGatewayStatus = Infer<typeof kubeGatewayStatus>;

export const kubeGateway = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "Gateway",
  plural: "gateways",
  shortNames: ["gtw"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Class", type: "string", jsonPath: ".spec.gatewayClassName" },
    { name: "Address", type: "string", jsonPath: ".status.addresses[*].value" },
    { name: "Programmed", type: "string", jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: kubeGatewaySpec,
  status: kubeGatewayStatus,
});
