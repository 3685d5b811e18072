// GET opens the stream of a session, on which the server tells of changes. It holds as long as the session; another GET of
// the same session takes its place, since a client that has lost its connection knows that before the server does.
import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import type { Listening } from '../listeners.ts'
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
): Result<RpcAnswer, ServiceError> {
  const listened = listening.listen({ caller, place, first: [OPENED], told: () => [listChanged], last: [], stands })
  return listened.ok ? ok({ status: 200, text: '', live: listened.value }) : listened
}
