// The user of the operating system who runs this process: the actor of commands.
import { hostname, userInfo } from 'node:os'
import type { EventActor } from '../event-record.ts'

/** The user who runs this process. The name is empty if the user database has no entry, which is usual in containers. */
export function operatingSystemUser(): Extract<EventActor, { type: 'operating-system-user' }> {
  const id = String(process.getuid?.() ?? '')
  const host = hostname()
  try {
    return { type: 'operating-system-user', id, name: userInfo().username, host }
  } catch {
    return { type: 'operating-system-user', id, name: '', host }
  }
}
