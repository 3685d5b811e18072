// What the long scripts are told on their command lines.

/** `--rounds 20`; a flag that is not there says `otherwise`. */
export function numberAfter(flag: string, otherwise: number): number {
  const at = process.argv.indexOf(flag)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}

/** Whether `--short` is there. */
export function hasFlag(flag: string): boolean {
  return process.argv.includes(flag)
}

/** The texts behind each occurrence of a flag. */
export function textsAfter(flag: string): string[] {
  return process.argv.flatMap((text, at) => (text === flag ? [process.argv[at + 1] ?? ''] : []))
}
