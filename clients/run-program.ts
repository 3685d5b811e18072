// Runs a program of another language: a generator, a compiler or a client.

/** Where and with what a program runs. */
export interface ProgramOptions {
  readonly cwd: string
  /** In addition to the variables of this process. */
  readonly environment?: Readonly<Record<string, string>> | undefined
}

/** Returns the standard output. Throws with all output if the program fails. */
export async function runProgram(command: readonly string[], { cwd, environment }: ProgramOptions): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, NO_COLOR: '1', ...environment },
  })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}:\n${stdout}${stderr}`)
  return stdout
}
