export { PendingScreen as StateTab } from '../pending/PendingScreen.js'
