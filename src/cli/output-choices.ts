/** What a command calls its form for people in; the option with all forms, for help and completion, out. It loads no printer. */
import { Option } from "commander";

export function outputChoices(plain: string, fallback = plain): Option {
  const option = new Option("-o, --output <format>", "how to print").default(fallback);
  // The last two go on.
  option.argChoices = [plain, "wide", "name", "json", "yaml", "jsonpath=", "custom-columns="];
  return option;
}
