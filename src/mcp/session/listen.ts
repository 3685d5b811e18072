// GET opens the stream of a session, on which the server tells of changes. It holds as long as the session; another GET of
// the same session takes its place, since a client that has lost its connection knows that before the server does. A HEAD
// opens none, so it leaves the open one alone.
import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import type { Listener, Listening } from '../listeners.ts'
import type { McpCaller } from '../parts.ts'
import { noticeEvent, type RpcAnswer } from '../rpc.ts'

const listChanged = noticeEvent('notifications/resources/list_changed')

/** So that the head of the answer goes out at once. */
const OPENED = ': listening\n\n'

export function listenInSession(
  listening: Listening,
  caller: McpCaller,
  place: string,
  stands: () => boolean,
  headOnly: boolean,
): Result<RpcAnswer, ServiceError> {
  const listener: Listener = { caller, place, first: [OPENED], told: () => [listChanged], last: [], stands }
  const listened = headOnly ? listening.wouldListen(listener) : listening.listen(listener)
  return listened.ok ? ok({ status: 200, text: '', live: listened.value }) : listened
}
