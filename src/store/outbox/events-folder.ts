// The environment of events that belong to no transaction of their own: decisions, searches, reads of the configuration. It has
// one stream for each project.
import { EVENTS_DESCRIPTION, openMeta, openOutbox } from '../lmdb/databases.ts'
import { checkLayout, eventsLayout } from '../lmdb/layout.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import { EventOutbox } from './outbox.ts'
import type { OutboxOptions } from './outbox-format.ts'

/** An open environment of events. */
export class EventsFolder {
  /** Its events. */
  readonly outbox: EventOutbox
  private readonly file: LmdbFile

  constructor(path: string, options: LmdbFileOptions & OutboxOptions) {
    this.file = new LmdbFile(path, options)
    try {
      const meta = openMeta(this.file, EVENTS_DESCRIPTION)
      checkLayout(this.file, meta, eventsLayout, options.readOnly === true, () => {})
      this.outbox = new EventOutbox(this.file, openOutbox(this.file, EVENTS_DESCRIPTION), options)
    } catch (error) {
      void this.file.close()
      throw error
    }
  }

  /** Removes readers of killed processes. */
  clearStaleReaders(): void {
    this.file.clearStaleReaders()
  }

  /** Closes the environment after pending writes. */
  close(): Promise<void> {
    return this.file.close()
  }
}
