// The messages between a process and the processes that it starts, over the IPC channel of the runtime. All kinds have the same.

/** From the parent. `Task`: what the process works on. `Command`: what only this kind understands. */
export type ParentOrder<Task, Command> =
  /** Open what the task names, and report `open`. It is the first message, and comes once. */
  | { readonly order: 'open'; readonly task: Task }
  /** Report `alive`, if everything that the process has started answers within `timeoutMs`. */
  | { readonly order: 'ping'; readonly timeoutMs: number }
  /** Another process on the folder has exited and may have left reader slots: clear them. */
  | { readonly order: 'check readers' }
  | { readonly order: 'command'; readonly command: Command }
  /** End the work, and exit with code 0. */
  | { readonly order: 'stop' }

/** From the child. `Event`: what only this kind reports. */
export type ChildReport<Event> =
  | { readonly report: 'open' }
  | { readonly report: 'alive' }
  | { readonly report: 'event'; readonly event: Event }

/** The exit codes of a child, except 0, with their meanings. */
export const childExits = {
  failed: { code: 1, meaning: 'it has failed' },
  memory: { code: 3, meaning: 'it used too much memory' },
  /** A normal end: its parent starts another one later. */
  unfinished: { code: 4, meaning: 'some of its work is still due' },
  orphan: { code: 5, meaning: 'the process that started it is not its parent, or has ended' },
} as const

/** Shows that the parent holds the lock of the data folder, and which of its processes this is. */
export interface ProcessIdentity {
  /** At least 1, unique among the processes on the folder. A replacement keeps the number. */
  readonly number: number
  /** Token of the process that holds the lock of the folder. */
  readonly proof: string
}
