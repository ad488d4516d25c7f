/** Envoy's two kinds of conditions in RBAC, permissions and principals, as one algebra: conditions in, their combinations out. */
import { create } from "@bufbuild/protobuf";
import {
  type Permission,
  PermissionSchema,
  type Principal,
  PrincipalSchema,
} from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import { brokenConstraint } from "../build/constraints.ts";

export interface Logic<M> {
  readonly any: M;
  and(all: readonly M[]): M;
  or(some: readonly M[]): M;
  not(one: M): M;
  /** False for what Envoy would refuse, and the whole listener with it. */
  isSound(one: M): boolean;
}

export const permissions: Logic<Permission> = {
  any: create(PermissionSchema, { rule: { case: "any", value: true } }),
  and: (rules) => create(PermissionSchema, { rule: { case: "andRules", value: { rules: [...rules] } } }),
  or: (rules) => create(PermissionSchema, { rule: { case: "orRules", value: { rules: [...rules] } } }),
  not: (value) => create(PermissionSchema, { rule: { case: "notRule", value } }),
  isSound: (one) => brokenConstraint(PermissionSchema, one) === undefined,
};

export const principals: Logic<Principal> = {
  any: create(PrincipalSchema, { identifier: { case: "any", value: true } }),
  and: (ids) => create(PrincipalSchema, { identifier: { case: "andIds", value: { ids: [...ids] } } }),
  or: (ids) => create(PrincipalSchema, { identifier: { case: "orIds", value: { ids: [...ids] } } }),
  not: (value) => create(PrincipalSchema, { identifier: { case: "notId", value } }),
  isSound: (one) => brokenConstraint(PrincipalSchema, one) === undefined,
};
