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

/** Text of the column with the objects and fields that made a resource, or a virtual host of it; `-` for none. */
export type Why = (type: ResourceType, name: string, host?: string) => string;
