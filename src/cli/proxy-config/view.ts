/** What every kind of resource is shown with: its rows for people, its messages for programs. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { ResourceType } from "../../model/index.ts";

export type Cells = readonly string[];

/** Whether each row begins with the kind and name, as `proxy-config all` prints it. */
export type Style = "alone" | "among-others";

export interface View {
  /** As a table. */
  short(style: Style): string;
  /** As proto3 JSON. */
  json(): JsonValue;
}

/** What made a resource, or a virtual host of it. */
export interface Why {
  /** For a column: the objects with their fields; `-` for none. */
  text(type: ResourceType, name: string, host?: string): string;
  /** For programs: all of them, and apart from them what was looked for and is not there. */
  data(type: ResourceType, name: string, host?: string): JsonValue;
}
