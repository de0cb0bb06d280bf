"""A hash of each picture that OpenCV shows: opencv_client.py WHERE COUNT"""

import hashlib
import sys

import cv2

capture = cv2.VideoCapture(sys.argv[1], cv2.CAP_FFMPEG)
for _ in range(int(sys.argv[2])):
    there, picture = capture.read()
    if not there:
        break
    print(hashlib.md5(picture.tobytes()).hexdigest())
