/** Processor time of the own thread: what it has had so far, and a way to use some up, however busy the machine. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export function spendCpu(ms: number): void {
  for (const end = threadCpuMs() + ms; threadCpuMs() < end; );
}
