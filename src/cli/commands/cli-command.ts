// A command of the program. Its declaration includes examples for the help and the reference, and the record that the command leaves.
import { Command } from 'commander'

/** A command with examples and with its record. Commands below it are of this class, too. */
export class CliCommand extends Command {
  declare readonly commands: readonly CliCommand[]
  /** Command lines without the name of the program; empty: the command is a group, or hidden. */
  exampleLines: readonly string[] = []
  /** The record of the command, or why it has none; empty: the command is hidden, or its group has the text. */
  recordText = ''

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name)
  }

  /** Adds examples to the help. `lines`: command lines without the name of the program. */
  examples(...lines: readonly string[]): this {
    this.exampleLines = lines
    return this.addHelpText('after', () => {
      const shown = lines.map((line) => `  $ ${this.programName()} ${line}`)
      return `\nExamples:\n${shown.join('\n')}`
    })
  }

  /** States the record of an operation that the command leaves, by the type of its event, or why it leaves none. */
  records(text: string): this {
    this.recordText = text
    return this
  }

  /** The names of its groups and its own, without that of the program. */
  get path(): string {
    const { parent } = this
    return parent instanceof CliCommand && parent.parent !== null ? `${parent.path} ${this.name()}` : this.name()
  }

  private programName(): string {
    let command: Command = this
    while (command.parent !== null) command = command.parent
    return command.name()
  }
}
