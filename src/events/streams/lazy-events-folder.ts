// The folder of events of decisions and reads, which is opened when it is first needed.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE, EVENTS_COMMIT_FILE, EVENTS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { type LmdbFileOptions, openWhenUnwritten } from '../../store/lmdb/open-file.ts'
import { EventsFolder } from '../../store/outbox/events-folder.ts'
import type { EventOutbox } from '../../store/outbox/outbox.ts'
import type { OutboxOptions } from '../../store/outbox/outbox-format.ts'
import { openCommitCounter } from '../../store/process/commit-counter.ts'

/** Opens the folder of events when it is first needed: most installations have no event sink. */
export class LazyEventsFolder {
  private readonly path: string
  private readonly options: LmdbFileOptions & OutboxOptions
  private opening: Promise<EventsFolder> | null = null
  private opened: EventsFolder | null = null

  constructor(dataDir: string, options: { sync: boolean } & OutboxOptions) {
    this.path = join(dataDir, EVENTS_FOLDER)
    this.options = { ...options, commitCounter: openCommitCounter(dataDir, EVENTS_COMMIT_FILE) }
  }

  /** Opens the folder, and creates it if necessary. Does not block the event loop. Rejects with OperationalError. */
  async open(): Promise<EventOutbox> {
    if (this.opened !== null) return this.opened.outbox
    this.opening ??= openWhenUnwritten(this.path, () => new EventsFolder(this.path, this.options))
    try {
      this.opened = await this.opening
      return this.opened.outbox
    } finally {
      this.opening = null
    }
  }

  /** As `open`; null if the folder does not exist. */
  async openIfPresent(): Promise<EventOutbox | null> {
    return existsSync(join(this.path, DATA_FILE)) ? this.open() : null
  }

  clearStaleReaders(): void {
    this.opened?.clearStaleReaders()
  }

  async close(): Promise<void> {
    await this.opening?.catch(() => undefined)
    await this.opened?.close()
  }
}
