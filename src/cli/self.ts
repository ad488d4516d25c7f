/** How this very program is started again: the runtime, its flags, and the bundle. */

export function selfCommand(): readonly string[] {
  const [node = process.execPath, script = ""] = process.argv;
  return [node, ...process.execArgv, script];
}
