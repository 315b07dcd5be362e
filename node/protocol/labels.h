/* The image labels that a market compares byte for byte (CONTRACT.md section 2). */
#ifndef BERTHOS_PROTOCOL_LABELS_H
#define BERTHOS_PROTOCOL_LABELS_H

#define LABEL_VERSION_KEY "berthos.guest.version"
#define LABEL_DESKTOP_KEY "berthos.desktop"
#define LABEL_EGRESS_KEY  "berthos.egress.policy"
#define LABEL_DISPLAY_KEY "berthos.display" /* ours: what draws the framebuffer; free text */

#define LABEL_VERSION "v1"
#define LABEL_DESKTOP "xvfb-openbox-chromium"
#define LABEL_EGRESS  "default-deny"

#endif
