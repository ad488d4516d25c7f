/** How policies name the workloads they apply to. */
import { type Infer, map, object, string, uint32 } from "./schema.ts";

export const workloadSelector = object(
  {
    matchLabels: map(
      string({
        rules: [{ message: "wildcard not allowed in label value match", rule: '!self.contains("*")' }],
        maxLength: 63,
      }),
      {
        rules: [
          { message: "wildcard not allowed in label key match", rule: 'self.all(key, !key.contains("*"))' },
          { message: "key must not be empty", rule: "self.all(key, key.size() != 0)" },
        ],
        maxProperties: 4096,
      },
    ),
  },
  { proto: "istio.type.v1beta1.WorkloadSelector" },
);
export type WorkloadSelector = Infer<typeof workloadSelector>;

export const policyTargetReference = object(
  {
    group: string({ pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", maxLength: 253 }),
    kind: string({ pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", minLength: 1, maxLength: 63 }),
    name: string({ minLength: 1, maxLength: 253 }),
    namespace: string({
      rules: [{ message: "cross namespace referencing is not currently supported", rule: "self.size() == 0" }],
    }),
  },
  { proto: "istio.type.v1beta1.PolicyTargetReference", required: ["kind", "name"] },
);
export type PolicyTargetReference = Infer<typeof policyTargetReference>;

export const policyPortSelector = object(
  { number: uint32({ minimum: 1, maximum: 65535 }) },
  { proto: "istio.type.v1beta1.PortSelector", required: ["number"] },
);
export type PolicyPortSelector = Infer<typeof policyPortSelector>;
