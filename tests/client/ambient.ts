// Types that many of the client's modules name. They are declared once here, and not in each of them.
type Store = import('../../src/web/client/store/index.js').Store
type Message = import('../../src/web/client/store/index.js').Message
type Pending = import('../../src/web/client/store/index.js').Pending
type Position = import('../../src/web/client/net/request.js').Position
type Child = import('../../src/web/client/view/element.js').Child
type Role = import('#api').components['schemas']['Role']
type Member = import('#api').components['schemas']['Member']
type Bot = import('#api').components['schemas']['Bot']
/** A message that notifies the person. */
type Notified = { channels_id: string, organisation_id: string, thread_id: string, message_id: string, reason: string, created_at: string }
