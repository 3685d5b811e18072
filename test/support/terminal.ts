// A program on a pseudo-terminal: keys go in, and the screen comes out.

export interface TerminalProgram {
  /** Everything that was printed so far, with escape sequences. */
  output(): string
  write(keys: string): void
  /** Resolves when the text is printed after the last call; rejects after 30 s with what was printed. */
  until(text: string): Promise<void>
  /** Resolves with the exit code when the program has ended and `output` is complete. */
  readonly ended: Promise<number>
  kill(): void
}

export function onTerminal(command: readonly string[], environment: Readonly<Record<string, string>>): TerminalProgram {
  let output = ''
  let seen = 0
  const decoder = new TextDecoder()
  // The process can be seen to have ended before its last output is read.
  const read = Promise.withResolvers<void>()
  const child = Bun.spawn([...command], {
    env: { TERM: 'xterm', ...environment },
    terminal: {
      cols: 120,
      rows: 40,
      data(_terminal, bytes) {
        output += decoder.decode(bytes, { stream: true })
      },
      exit: () => read.resolve(),
    },
  })
  const { terminal } = child
  if (terminal === undefined) throw new Error('the program has no terminal')
  return {
    output: () => output,
    write: (keys) => void terminal.write(keys),
    async until(text) {
      const end = performance.now() + 30_000
      for (let at = -1; at < 0; await Bun.sleep(10)) {
        at = output.indexOf(text, seen)
        if (at >= 0) seen = at + text.length
        else if (performance.now() > end)
          throw new Error(`\`${text}\` was not printed: ${JSON.stringify(output.slice(seen))}`)
      }
    },
    ended: (async () => {
      await read.promise
      return child.exited
    })(),
    kill: () => child.kill('SIGKILL'),
  }
}
