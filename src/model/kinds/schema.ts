/**
 * The words in which every API kind is written down once: a tree of plain nodes in, and from it the CRD, defaults,
 * validation, decoding and (by `Infer`) the TypeScript type out.
 */

/** A CEL rule of the CRD (`x-kubernetes-validations`). */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** A condition that several fields meet together, as JSON schema says it; it never changes the shape. */
export interface Junctor {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Junctor>>;
  readonly items?: Junctor;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly maxItems?: number;
  readonly anyOf?: readonly Junctor[];
  readonly oneOf?: readonly Junctor[];
  readonly allOf?: readonly Junctor[];
  readonly not?: Junctor;
}

interface Common {
  readonly description?: string;
  readonly default?: unknown;
  /** An explicit `null` stands for "not set", as protobuf's wrapper types have it. */
  readonly nullable?: true;
  readonly rules?: readonly Rule[];
  readonly anyOf?: readonly Junctor[];
  readonly allOf?: readonly Junctor[];
  readonly not?: Junctor;
}

interface Text {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

interface Range {
  readonly minimum?: number;
  readonly maximum?: number;
}

/** `bytes` is base64 text; `duration` is text such as `5s`; `enum` has one number per name, by position unless given. */
export interface StringNode extends Common, Text {
  readonly type: "string";
  readonly meaning?: "duration" | "bytes" | "enum";
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly numbers?: readonly number[];
  /** The enum's name in protobuf, as decoding errors give it. */
  readonly proto?: string;
}

export interface IntegerNode extends Common, Range {
  readonly type: "integer";
  readonly format?: "int32" | "int64";
  /** A closed set of numbers. */
  readonly allowed?: readonly number[];
  readonly meaning?: "uint32" | "uint64";
}

export interface NumberNode extends Common, Range {
  readonly type: "number";
  readonly format?: string;
}

export interface BooleanNode extends Common {
  readonly type: "boolean";
}

/** A number, or text: Kubernetes' IntOrString and protobuf's 64-bit integers. */
export interface IntOrStringNode extends Common, Text {
  readonly type: "int-or-string";
}

/** google.protobuf.Struct and Value, or any object the API server is told to leave alone. */
export interface AnyNode extends Common {
  readonly type: "any";
  readonly object: boolean;
}

export interface ArrayNode extends Common {
  readonly type: "array";
  readonly items: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
}

export interface MapNode extends Common {
  readonly type: "map";
  readonly values: Schema;
  /** Keys are text in JSON; protobuf maps may have them as numbers. */
  readonly keys?: "uint32";
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

export interface ObjectNode extends Common {
  readonly type: "object";
  readonly fields: Readonly<Record<string, Schema>>;
  /** The message's name in protobuf, as decoding errors give it. */
  readonly proto?: string;
  readonly required?: readonly string[];
  /** protobuf oneofs: of each group at most one field is set. */
  readonly oneOf?: readonly (readonly string[])[];
  readonly preserveUnknown?: true;
  readonly mapType?: "atomic" | "granular";
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

export type Schema =
  | StringNode
  | IntegerNode
  | NumberNode
  | BooleanNode
  | IntOrStringNode
  | AnyNode
  | ArrayNode
  | MapNode
  | ObjectNode;

/** A node that carries the TypeScript type of its values; the carrier exists for the compiler only. */
export type Typed<Node extends Schema, Value> = Node & { readonly value?: (never: never) => Value };

export type Infer<S> = S extends { readonly value?: (never: never) => infer Value } ? Value : unknown;

type Options<Node extends Schema> = Omit<Node, "type" | "meaning" | "enum" | "items" | "values" | "fields">;

export const string = (options: Options<StringNode> = {}): Typed<StringNode, string> => ({
  type: "string",
  ...options,
});

/** A closed set of names; protobuf JSON also accepts the number. */
export const enumOf = <const Name extends string>(
  names: readonly Name[],
  options: Options<StringNode> = {},
): Typed<StringNode, Name> => ({ type: "string", meaning: "enum", enum: names, ...options });

const atLeastOneMs: Rule = {
  message: "must be a valid duration greater than 1ms",
  rule: "duration(self) >= duration('1ms')",
};

export const duration = (options: Options<StringNode> = {}): Typed<StringNode, string> => ({
  type: "string",
  meaning: "duration",
  rules: [atLeastOneMs],
  ...options,
});

export const bytes = (options: Options<StringNode> = {}): Typed<StringNode, string> => ({
  type: "string",
  meaning: "bytes",
  format: "byte",
  ...options,
});

export const int32 = (options: Options<IntegerNode> = {}): Typed<IntegerNode, number> => ({
  type: "integer",
  format: "int32",
  ...options,
});

export const int64 = (options: Options<IntegerNode> = {}): Typed<IntegerNode, number> => ({
  type: "integer",
  format: "int64",
  ...options,
});

/** A whole number with no format of its own in the CRD. */
export const integer = (options: Options<IntegerNode> = {}): Typed<IntegerNode, number> => ({
  type: "integer",
  ...options,
});

export const uint32 = (options: Options<IntegerNode> = {}): Typed<IntegerNode, number> => ({
  type: "integer",
  meaning: "uint32",
  minimum: 0,
  maximum: 4294967295,
  ...options,
});

export const uint64 = (options: Options<IntegerNode> = {}): Typed<IntegerNode, number> => ({
  type: "integer",
  meaning: "uint64",
  minimum: 0,
  ...options,
});

export const double = (options: Options<NumberNode> = {}): Typed<NumberNode, number> => ({
  type: "number",
  format: "double",
  ...options,
});

export const boolean = (options: Options<BooleanNode> = {}): Typed<BooleanNode, boolean> => ({
  type: "boolean",
  ...options,
});

export const intOrString = (options: Options<IntOrStringNode> = {}): Typed<IntOrStringNode, number | string> => ({
  type: "int-or-string",
  ...options,
});

/** google.protobuf.Struct: any JSON object. */
export const struct = (
  options: Omit<Options<AnyNode>, "object"> = {},
): Typed<AnyNode, Readonly<Record<string, unknown>>> => ({ type: "any", object: true, ...options });

export const array = <S extends Schema>(
  items: S,
  options: Options<ArrayNode> = {},
): Typed<ArrayNode, readonly Infer<S>[]> => ({ type: "array", items, ...options });

export const map = <S extends Schema>(
  values: S,
  options: Options<MapNode> = {},
): Typed<MapNode, Readonly<Record<string, Infer<S>>>> => ({ type: "map", values, ...options });

/** Every field is optional in the type: istiod reads objects that no schema has seen, and absent means zero. */
export const object = <F extends Readonly<Record<string, Schema>>>(
  fields: F,
  options: Options<ObjectNode> = {},
): Typed<ObjectNode, { readonly [K in keyof F]?: Infer<F[K]> }> => ({ type: "object", fields, ...options });
