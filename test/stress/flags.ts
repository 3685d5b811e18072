// Command-line flags of the stress programs.

/** `--rounds 20`; `otherwise` if the flag is missing. */
export function numberAfter(flag: string, otherwise: number): number {
  const at = process.argv.indexOf(flag)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}

/** Whether the flag is present, for example `--short`. */
export function hasFlag(flag: string): boolean {
  return process.argv.includes(flag)
}

/** The text after each occurrence of a flag. */
export function textsAfter(flag: string): string[] {
  return process.argv.flatMap((text, at) => (text === flag ? [process.argv[at + 1] ?? ''] : []))
}
